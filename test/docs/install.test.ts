/** The shell block of docs/embedding.md, as a reader would copy it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { root } from "../harness/index.ts";

const run = promisify(execFile);

const page = readFileSync(join(root, "docs/embedding.md"), "utf8");
const block = (/^```sh\n(.*?)^```$/ms.exec(page)?.[1] ?? "").replace("<this repository>", '"$REPOSITORY"');

/** npm, but for what it would get from the registry: our packages, and pi. */
const NPM = `#!/bin/sh
pi=@earendil-works/pi-coding-agent
PATH="\${PATH#*:}"
case "$*" in
	"run setup packages") exec ln -s "$REPOSITORY/node_modules" . ;;
	"install "*" $pi")
		npm install --offline --loglevel=error "$2" && mkdir node_modules/@earendil-works &&
			exec ln -s "$REPOSITORY/node_modules/$pi" "node_modules/$pi" ;;
	*) exec npm "$@" ;;
esac
`;

const PROGRAM = `
import { createAgentSession } from "@earendil-works/pi-coding-agent";
import { turnLimit } from "pi-turn-limit";
console.log(typeof createAgentSession, typeof turnLimit);`;

test("the installation of docs/embedding.md works in an empty folder", async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "pi-install-"));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	const [bin, empty] = [join(folder, "bin"), join(folder, "empty")];
	for (const each of [bin, empty]) mkdirSync(each);
	writeFileSync(join(bin, "npm"), NPM, { mode: 0o755 });
	const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}`, REPOSITORY: root };
	const script = `${block}node --input-type=module --eval '${PROGRAM}'`;
	const { stdout } = await run("bash", ["-ec", script], { cwd: empty, env });
	assert.match(stdout, /\nfunction function\n$/);
	const { dependencies } = JSON.parse(readFileSync(join(empty, "my-program/package.json"), "utf8")) as {
		dependencies: Record<string, string>;
	};
	assert.match(dependencies["pi-turn-limit"] ?? "", /^file:\.\.\/pi-turn-limit\/pi-turn-limit-\d.*\.tgz$/);
});
