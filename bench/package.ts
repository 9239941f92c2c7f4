/** The package as it ships: packed, and installed into an empty project. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "../test/harness/index.ts";
import { defer, type Scope } from "../test/harness/wait.ts";

const run = promisify(execFile);

/** BENCH_EARLIER: the folder of an earlier version, to be measured beside this one. */
export const earlier = process.env["BENCH_EARLIER"] || undefined;

export interface Installed {
	/** Where the installed package is. */
	readonly folder: string;
	readonly packedBytes: number;
	readonly installedBytes: number;
	readonly files: number;
	/** How many packages the install brought. */
	readonly packages: number;
}

/** The file that pi loads from a package, of this version or an earlier one. */
export function entryOf(folder: string): string {
	const { pi } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { pi: { extensions: [string] } };
	const [entry] = pi.extensions;
	return join(folder, entry, entry.endsWith(".ts") ? "" : "index.js");
}

export async function installed(t: Scope): Promise<Installed> {
	const project = mkdtempSync(join(tmpdir(), "pi-bench-"));
	defer(t, () => rmSync(project, { recursive: true, force: true }));
	const quiet = "--loglevel=error";
	const packed = await run("npm", ["pack", "--ignore-scripts=false", quiet, "--pack-destination", project], {
		cwd: root,
	});
	const tarball = join(project, packed.stdout.trim().split("\n").at(-1) ?? "");
	writeFileSync(join(project, "package.json"), '{ "private": true }');
	await run("npm", ["install", "--offline", quiet, tarball], { cwd: project });
	const folder = join(project, "node_modules/pi-turn-limit");
	const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
	const lock = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8")) as { packages: object };
	return {
		folder,
		packedBytes: statSync(tarball).size,
		installedBytes: files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0),
		files: files.length,
		packages: Object.keys(lock.packages).length - 1,
	};
}
