import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { childCli, endless, host, mark, node, type Reply, root, type Script, text } from "../harness/index.ts";

const script = /^```sh\n(PI_MAX_TURNS=.*?)^```$/ms.exec(readFileSync(join(root, "README.md"), "utf8"))?.[1] ?? "";

/** Answers when it reads these words. */
function obedient(words: string): Script {
	return (request): Reply => (request.count(words) > 0 ? text("Half of it.") : mark());
}

const WRAPPED_UP = "finished after the wrap-up; the report may be partial\n";
const STOPPED = "stopped at the limit; report.md is partial or empty\n";

for (const [what, model, printed, report, code, grace] of [
	["a model that finishes", [mark(), text("All of it.")], "done\n", "All of it.\n", 0, "0"],
	["a model that wraps up", obedient("left in this run"), WRAPPED_UP, "Half of it.\n", 0, "2"],
	["a model that needs longer", obedient("budget of turns"), STOPPED, "Half of it.\n", 1, "0"],
	["a model that never stops", endless(), STOPPED, "", 1, "0"],
] as const) {
	test(`the script of the README, in a shell that ends at the first failure, as in CI, with ${what}`, async (t) => {
		const pi = await host(t, { model, env: { PI_TURN_LIMIT_GRACE: grace } });
		const shim = `#!/bin/sh\nexec "${node}" "${childCli}" --offline --no-session --no-extensions -e "${root}" "$@" < /dev/null\n`;
		writeFileSync(join(pi.cwd, "pi"), shim, { mode: 0o755 });
		const env = { ...pi.env, PATH: `${pi.cwd}:${pi.env["PATH"]}` };
		const shell = spawn("sh", ["-ec", script], { cwd: pi.cwd, env, stdio: ["ignore", "pipe", "ignore"] });
		let told = "";
		shell.stdout.setEncoding("utf8").on("data", (part: string) => (told += part));
		const [exit] = (await once(shell, "close")) as [number];
		assert.deepEqual([told, readFileSync(join(pi.cwd, "report.md"), "utf8"), exit], [printed, report, code]);
	});
}
