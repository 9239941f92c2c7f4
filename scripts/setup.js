/**
 * Brings what is missing, once; after that no network is needed.
 *
 *     node scripts/setup.js                 for `npm start`: pi, and a Node that fits if the machine's own does not
 *     node scripts/setup.js packages        for everything else: also the packages of the lock file
 *     node scripts/setup.js 1.3.0 node-24   further hosts; prints the path of each
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { argv, execPath, pid, versions } from "node:process";
import { bring, bringHost, newest, npm, project } from "./hosts.js";

/** pi needs Node 22.19, and not every 23 runs TypeScript. A Node inside the project is one that we brought. */
function isNodeFitting() {
	const [major = 0, minor = 0] = versions.node.split(".").map(Number);
	return (major === 22 ? minor >= 19 : major >= 24) && !execPath.startsWith(project);
}

async function bringPackages() {
	const lock = readFileSync(join(project, "package-lock.json"), "utf8");
	await bring(join(project, "node_modules"), lock, async (partial) => {
		for (const file of ["package.json", ".npmrc"]) copyFileSync(join(project, file), join(partial, file));
		writeFileSync(join(partial, "package-lock.json"), withAddresses(lock));
		// npm 12 runs no install scripts. We need none, so no other npm is to run them either.
		// What a person, a container or NODE_ENV says about other projects may leave out what the tests need.
		const all = ["--include=dev", "--include=optional", "--bin-links", "--no-engine-strict"];
		const flags = [...all, "--ignore-scripts", "--no-audit", "--no-fund", "--replace-registry-host=always"];
		await npm("Installing the packages of package-lock.json", ["ci", ...flags], partial);
	});
}

/**
 * Adds to a lock file what ours omits, because it differs between registries: where each package is. Without it npm downloads
 * the list of all versions of every package first. npm replaces the host by that of the configured registry.
 */
function withAddresses(lock) {
	const content = JSON.parse(lock);
	for (const [path, pack] of Object.entries(content.packages)) {
		const name = pack.name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
		if (pack.integrity) pack.resolved = `https://registry.invalid/${name}/-/${basename(name)}-${pack.version}.tgz`;
	}
	return JSON.stringify(content);
}

/** Puts a node first on the path of every npm script. */
function link(node) {
	const { status } = spawnSync(node, ["--version"]);
	if (status !== 0) throw new Error(`${node} does not run on this system. Install Node 22.19 or newer.`);
	const bin = join(project, "node_modules/.bin");
	const name = join(bin, basename(node));
	mkdirSync(bin, { recursive: true });
	symlinkSync(relative(bin, node), `${name}-${pid}`);
	renameSync(`${name}-${pid}`, name);
}

const wanted = argv.slice(2);
try {
	const hosts = [newest, ...(isNodeFitting() ? [] : ["node-22"])].map(bringHost);
	await Promise.allSettled(hosts); // so that an error is the last thing on the screen
	const [, node] = await Promise.all(hosts);
	if (wanted.includes("packages")) await bringPackages();
	if (node) link(node);
	for (const name of wanted) if (name !== "packages") console.log(await bringHost(name));
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
}
