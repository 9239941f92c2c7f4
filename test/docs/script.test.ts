/** The scripts of the documents, as a reader would copy them: every branch runs. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import {
	childCli,
	cli,
	endless,
	fail,
	host,
	mark,
	node,
	type Reply,
	root,
	type Script,
	text,
} from "../harness/index.ts";

const read = (file: string): string => readFileSync(join(root, file), "utf8");

const [inReadme = "", inDocs = ""] = ["README.md", "docs/scripts.md"].map(
	(file) => /^```sh\n(pi install .*?)^```$/ms.exec(read(file))?.[1],
);

/** How the README installs it, with the address that a reader has to put in. */
const installing = (/^```sh\n(git clone .*?)^```$/ms.exec(read("README.md"))?.[1] ?? "").replace(
	"<this repository>",
	'"$REPOSITORY"',
);

/** The steps of the workflow that run something. */
const steps = [...read("docs/scripts.md").matchAll(/^ {8}run: \|\n((?: {10}.*\n)+)/gm)].map(([, lines = ""]) =>
	lines.replaceAll(/^ {10}/gm, ""),
);

/** Answers when it reads these words. */
function obedient(words: string): Script {
	return (request): Reply => (request.count(words) > 0 ? text("Half of it.") : mark());
}

interface Case {
	readonly model: Script | Reply[];
	readonly env?: Record<string, string>;
	/** pi-turn-limit is not installed. */
	readonly isBare?: boolean;
}

const noGrace = { PI_TURN_LIMIT_GRACE: "0" };

/** By what the model does. */
const CASES: Readonly<Record<string, Case>> = {
	finishes: { model: [mark(), text("All of it.")], env: noGrace },
	"wraps up": { model: obedient("left in this run") },
	"needs longer": { model: obedient("budget of turns"), env: noGrace },
	"never stops": { model: endless(), env: noGrace },
	fails: { model: endless(fail(400, "The provider failed.")) },
	"is not asked, because a limit was not understood": { model: [], env: { PI_TURN_LIMIT_COSTS: "5" } },
	"is not asked, because pi lacks the extension": { model: [], isBare: true },
};

/** Runs a script in a shell that ends at the first failure, as CI's do; gives what it says, the report and the code. */
async function run(t: TestContext, { model, env = {}, isBare = false }: Case, script: string) {
	const pi = await host(t, { model, env, files: { "temp/note": "" } });
	const command = (name: string, lines: string): void =>
		writeFileSync(join(pi.cwd, name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
	const install = isBare ? "exit 0" : `exec "${node}" "${cli}" "$@"`;
	command("pi", `[ "$1" = install ] && ${install}\nexec "${node}" "${childCli}" "$@" < /dev/null`);
	command("npm", "exit 0");
	command("git", `for last; do :; done\nln -s "${root}" "$last"`);
	if (!script.includes(installing)) symlinkSync(root, join(pi.cwd, "pi-turn-limit"));
	const [temp, summary] = [join(pi.cwd, "temp"), join(pi.cwd, "summary.md")];
	const ofCi = { RUNNER_TEMP: temp, GITHUB_STEP_SUMMARY: summary, REPOSITORY: "here" };
	const shell = spawn("bash", ["-ec", script], {
		cwd: pi.cwd,
		env: { ...pi.env, ...ofCi, PATH: `${pi.cwd}:${pi.env["PATH"]}` },
		stdio: ["ignore", "pipe", "ignore"],
	});
	let said = "";
	shell.stdout.setEncoding("utf8").on("data", (part: string) => (said += part));
	const [code] = (await once(shell, "close")) as [number];
	const report = [join(pi.cwd, "report.md"), summary].find((path) => existsSync(path)) ?? "";
	const ours = said.split("\n").filter((line) => line !== "" && !/^(Installing|Installed) /.test(line));
	return [...ours, readFileSync(report, "utf8"), code];
}

const half = "Half of it.\n";
const [wrappedUp, stopped] = ["report.md may be partial", "stopped: report.md is partial or empty"];
const failed = "failed, or not started";
const line = (answer: string): string =>
	`stopped: pi-turn-limit: stopped at the limit of 40 turns (--turn-limit), ${answer}`;

for (const [where, script, expected] of [
	[
		"the script of the README",
		inReadme,
		[
			["done", "All of it.\n", 0],
			[wrappedUp, half, 0],
			[stopped, half, 1],
			[stopped, "", 1],
			[failed, "", 1],
			[failed, "", 1],
			[failed, "", 1],
		],
	],
	[
		"the script of docs/scripts.md",
		inDocs,
		[
			["done", "All of it.\n", 0],
			[wrappedUp, half, 54],
			[line("with a last answer"), half, 53],
			[line("without an answer"), "no report", "", 53],
			[`${failed}: 400: `, "", 1],
			[`${failed}: pi-turn-limit: PI_TURN_LIMIT_COSTS: unknown variable, did you mean`, "", 1],
			[`${failed}: Error: Unknown option`, "", 1],
		],
	],
	[
		"the workflow of docs/scripts.md",
		steps.join(""),
		[
			["All of it.\n", 0],
			["::warning::The agent was told to wrap up; its report may be partial.", half, 0],
			["::error::A limit stopped the agent; its report is partial or empty.", half, 1],
			["::error::A limit stopped the agent; its report is partial or empty.", "", 1],
			["::error::The agent failed, or was not started.", "", 1],
			["::error::The agent failed, or was not started.", "", 1],
			["::error::The agent failed, or was not started.", "", 1],
		],
	],
] as const) {
	describe(`${where}, where the model`, () => {
		Object.entries(CASES).forEach(([what, each], i) => {
			test(what, async (t) => {
				const found = await run(t, each, script);
				const wanted = expected[i] ?? [];
				// Of a line that ends with figures the beginning counts.
				const cut = found.map((part, n) =>
					typeof part === "string" && part !== "" ? part.slice(0, String(wanted[n]).length) : part,
				);
				assert.deepEqual(cut, [...wanted], JSON.stringify(found));
			});
		});
	});
}

test("the README's script runs after its installation, which makes the clone", async (t) => {
	assert.match(installing, /^git clone "\$REPOSITORY" pi-turn-limit\npi install/);
	assert.deepEqual(await run(t, CASES["finishes"]!, installing + inReadme), ["done", "All of it.\n", 0]);
});
