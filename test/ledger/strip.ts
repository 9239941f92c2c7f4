/** The ledger in JavaScript, as far as Node can make it by itself. */
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { root } from "../harness/process.ts";

/** Writes src/ledger and what it imports, and other files that need nothing else, to the same paths under `out`. */
export function strip(out: string, others: readonly string[] = []): void {
	const toJs = (path: string): string => path.replace(/\.ts$/, ".js");
	for (const file of [...others, ...globSync("src/{core,ledger}/**/*.ts", { cwd: root })]) {
		const source = stripTypeScriptTypes(readFileSync(join(root, file), "utf8"));
		mkdirSync(dirname(join(out, file)), { recursive: true });
		writeFileSync(
			join(out, toJs(file)),
			source.replaceAll(/ from "(\..*)"/g, (_, path: string) => ` from "${toJs(path)}"`),
		);
	}
	writeFileSync(join(out, "package.json"), JSON.stringify({ type: "module" }));
}
