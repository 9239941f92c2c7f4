/**
 * Brings further hosts for the tests into .hosts/: versions of pi that npm cannot install, and other Nodes.
 *
 *     node scripts/hosts.ts 1.3.0 1.5.0 node-24
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const project = dirname(import.meta.dirname);
const hosts = join(project, ".hosts");

/** What pi's bundle leaves outside itself; chord only until 0.87. The versions are those that the host pins. */
const BESIDE = ["jiti", "typebox", "@earendil-works/chord"];

/** The path of pi's cli.js in exactly this version, e.g. "1.5.0"; fetched once, then kept. */
export async function bringHost(version: string): Promise<string> {
	if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) throw new RangeError(`Not an exact version of pi: "${version}"`);
	return bring(version, "dist/bundle/cli.js", async (folder) => {
		await unpack(`@earendil-works/pi-coding-agent@${version}`, folder);
		const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
			dependencies: Record<string, string>;
		};
		for (const name of BESIDE) {
			const pinned = manifest.dependencies[name]?.replace("^", "");
			if (pinned) await unpack(`${name}@${pinned}`, join(folder, "node_modules", name));
		}
	});
}

/** The path of a node of this major version, the newest when it was first fetched; then kept. */
export async function bringNode(major: number): Promise<string> {
	const prefix = process.platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node";
	const name = `${prefix}-${process.platform}-${process.arch}`;
	return bring(`node-${major}`, "bin/node", (folder) => unpack(`${name}@${major}`, folder, "package/bin/node"));
}

/** Fills a folder under a temporary name and renames it when whole, so that what has its name is complete. */
async function bring(name: string, file: string, fill: (folder: string) => Promise<void>): Promise<string> {
	const folder = join(hosts, name);
	const wanted = join(folder, file);
	if (existsSync(wanted)) return wanted;
	await mkdir(hosts, { recursive: true });
	const partial = await mkdtemp(join(hosts, `.${name}-`));
	try {
		await fill(partial);
		if (!existsSync(join(partial, file))) throw new Error(`${name} holds no ${file}`);
		await rename(partial, folder).catch((error: unknown) => {
			// Somebody else was quicker, and theirs is as good.
			if (!existsSync(wanted)) throw error;
		});
	} finally {
		await rm(partial, { recursive: true, force: true });
	}
	return wanted;
}

/** Packs one published package and extracts it, or only the given member of it, into a folder. */
async function unpack(spec: string, folder: string, ...member: string[]): Promise<void> {
	await mkdir(folder, { recursive: true });
	const quick = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--loglevel=error", "--json=false"];
	const packed = await run("npm", ["pack", spec, "--pack-destination", folder, ...quick], {
		cwd: project,
	}).catch((error: unknown) => {
		const { stderr, message } = error as { stderr?: string; message: string };
		const why = (stderr || message).split("\n").slice(0, 4).join("\n  ");
		throw new Error(
			`Cannot bring ${spec}. npm could not fetch it (no such version, or no registry in reach):\n  ${why}`,
		);
	});
	const tarball = join(folder, packed.stdout.trim().split("\n").at(-1) ?? "");
	await run("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1", ...member]);
	await rm(tarball);
}

if (import.meta.main) {
	try {
		for (const name of process.argv.slice(2)) {
			const major = /^node-(\d+)$/.exec(name)?.[1];
			console.log(await (major ? bringNode(Number(major)) : bringHost(name)));
		}
	} catch (error) {
		console.error(error instanceof Error ? error.message : error);
		process.exitCode = 1;
	}
}
