/**
 * Brings hosts into .hosts/: versions of pi, the newer of which npm cannot install here, and Nodes. hosts.json lists the packs
 * of each host with their integrity. Plain JavaScript without dependencies, because the machine's own Node may be 20.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { arch, kill, pid, platform } from "node:process";
import { fileURLToPath } from "node:url";

export const project = fileURLToPath(new URL("..", import.meta.url));
const hosts = join(project, ".hosts");
const STAMP = ".set-up";

/** The pi that `npm start` shows. */
export const newest = "1.5.0";

/** Gives the path of a pi's cli.js ("1.5.0") or of a node ("node-24"); fetches it the first time. */
export async function bringHost(name) {
	const table = readJson(join(project, "scripts/hosts.json"));
	const packs = table[name] ?? table[`${name}-${platform}-${arch}`];
	if (!packs) {
		const advice = name === "node-22" ? "Install Node 22.19 or newer." : "CONTRIBUTING.md says how to add a host.";
		throw new RangeError(`No ${name} for ${platform}-${arch} in scripts/hosts.json. ${advice}`);
	}
	const folder = join(hosts, name);
	await bring(folder, JSON.stringify(packs), async (partial) => {
		const specs = Object.keys(packs);
		await npm(`Fetching ${specs.join(", ")}`, ["pack", "--pack-destination=.", ...specs], partial);
		specs.forEach((spec, i) => {
			const into = i === 0 ? name : join(name, "node_modules", spec.slice(0, spec.lastIndexOf("@")));
			unpack(partial, spec, packs[spec], into);
		});
	});
	return join(folder, Object.values(readJson(join(folder, "package.json")).bin)[0]);
}

function readJson(file) {
	return JSON.parse(readFileSync(file, "utf8"));
}

/** Unpacks the tarball that `npm pack` has written for `spec`, if it is the one that we committed to. */
function unpack(folder, spec, expected, into) {
	const tarball = `${spec.replace(/^@/, "").replace(/[/@]/g, "-")}.tgz`;
	const content = readFileSync(join(folder, tarball));
	const actual = `sha512-${createHash("sha512").update(content).digest("base64")}`;
	if (actual !== expected) {
		const why = "Your registry has another content under this version, so we do not use it.";
		throw new Error(`${spec}: expected integrity ${expected}, got ${actual}. ${why}`);
	}
	mkdirSync(join(folder, into), { recursive: true });
	// The headers are a third of a Node. Relative paths, because GNU tar takes C: for the name of a machine.
	const options = ["--strip-components=1", "--exclude=package/include"];
	try {
		execFileSync("tar", ["-xzf", tarball, "-C", into, ...options], { cwd: folder });
	} catch (error) {
		throw error.code === "ENOENT" ? new Error("Install tar, then run the same command again.") : error;
	}
}

/**
 * Replaces `folder` by what `fill` makes under the same name in a folder of its own, unless `folder` has this stamp already.
 * Only complete folders are moved into place, so an interrupted set-up leaves none half-filled, and two at once do not mix.
 */
export async function bring(folder, stamp, fill) {
	const isThere = () => existsSync(join(folder, STAMP)) && readFileSync(join(folder, STAMP), "utf8") === stamp;
	if (isThere()) return;
	mkdirSync(hosts, { recursive: true });
	removeLeftovers();
	const partial = join(hosts, `.${basename(folder)}-${pid}`);
	rmSync(partial, { recursive: true, force: true }); // of a dead process that had our number, as in containers
	mkdirSync(partial);
	try {
		await fill(partial);
		const made = join(partial, basename(folder));
		writeFileSync(join(made, STAMP), stamp);
		if (isThere()) return;
		if (existsSync(folder)) renameSync(folder, join(partial, "old"));
		renameSync(made, folder);
	} catch (error) {
		if (!isThere()) throw error;
	} finally {
		rmSync(partial, { recursive: true, force: true });
	}
}

/** Removes what set-ups that were killed have left. */
function removeLeftovers() {
	for (const name of readdirSync(hosts)) {
		const owner = /^\..+-(\d+)$/.exec(name)?.[1];
		if (owner && !isAlive(Number(owner))) rmSync(join(hosts, name), { recursive: true, force: true });
	}
}

function isAlive(pid) {
	try {
		return kill(pid, 0);
	} catch (error) {
		return error.code === "EPERM";
	}
}

/** Runs npm in a folder, with a line every few seconds. If it fails, the error says what to do. */
export function npm(title, args, cwd) {
	const started = Date.now();
	const report = () => console.error(`${title}: ${Math.round((Date.now() - started) / 1000)} s`);
	console.error(title);
	const reports = setInterval(report, 5000);
	const retries = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000"];
	const child = spawn("npm", [...args, ...retries, "--loglevel=error"], {
		cwd,
		stdio: ["ignore", "ignore", "pipe"],
		shell: platform === "win32",
	});
	let said = "";
	child.stderr.setEncoding("utf8").on("data", (part) => (said += part));
	return new Promise((resolve, reject) => {
		child.on("error", reject);
		child.on("close", (code) => {
			clearInterval(reports);
			if (code === 0) return resolve();
			const why = said.trim().split("\n").slice(0, 4).join("\n  ");
			const isFile = /^npm \S+ path /m.test(said);
			const advice = isFile
				? "Set npm_config_cache to a folder that you can write"
				: "Check the network, proxies and `npm config get registry`";
			reject(new Error(`${title}: npm failed.\n  ${why}\n${advice}, then run the same command again.`));
		});
	});
}
