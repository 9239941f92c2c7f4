/** The client of PostgreSQL is not part of the package: whoever lacks it is told how to bring it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { promisify } from "node:util";
import { root } from "../harness/process.ts";
import { defer } from "../harness/wait.ts";
import { strip } from "./strip.ts";

suite("without the package postgres", () => {
	for (const where of ["node_modules/pi-turn-limit", "pi-turn-limit"]) {
		test(`the ledger of ${where} says which command brings it, and the command does`, async (t) => {
			const folder = realpathSync(mkdtempSync(join(tmpdir(), "pi client-")));
			defer(t, () => rmSync(folder, { recursive: true }));
			// As JavaScript, because Node strips no types inside of node_modules.
			strip(join(folder, where));
			for (const name of ["package.json", "package-lock.json"])
				copyFileSync(join(root, name), join(folder, where, name));
			writeFileSync(join(folder, "package.json"), JSON.stringify({ dependencies: { "pi-turn-limit": "*" } }));
			const program = `
				const { openPostgres } = await import(${JSON.stringify(join(folder, where, "src/ledger/postgres/ledger.js"))});
				await openPostgres({ address: "postgres://ada@127.0.0.1:1/none" }).catch(({ message }) => console.log(message));`;
			const says = async (): Promise<string> =>
				(await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program])).stdout;
			const [, command = ""] = /needs the package postgres\. Run: (.*) postgres@3\n$/.exec(await says()) ?? [];
			const copy = `--offline --ignore-scripts --install-links file:${join(root, "node_modules/postgres")}`;
			await promisify(execFile)("sh", ["-c", `${command} ${copy}`], { cwd: tmpdir() });
			assert.match(await says(), /nothing listens there/);
		});
	}
});
