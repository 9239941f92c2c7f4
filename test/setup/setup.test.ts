import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { newest } from "../../scripts/hosts.js";
import { root } from "../harness/index.ts";
import { defer } from "../harness/wait.ts";
import { pack, Registry, type Pack } from "./registry.ts";

const pi = pack("@earendil-works/pi-coding-agent", newest, "dist/bundle/cli.js", "console.log('pi')");
const jiti = pack("jiti", "2.7.0", "jiti.js", "");
const node = pack(`node-${process.platform}-${process.arch}`, "22.23.2", "bin/node", "#!/bin/sh\necho fitting\n");
const tool = pack("tool", "1.0.0", "tool.js", "");
const other = pack("other", "1.0.0", "other.js", "");

interface Ended {
	code: number | null;
	stderr: string;
}

/** A fresh clone with our set-up, a table of small packs, a lock file with one package, and a registry that has them all. */
class Clone {
	readonly registry = new Registry([pi, jiti, node, tool]);
	readonly folder = mkdtempSync(join(tmpdir(), "pi-setup-"));
	/** Variables that differ from a person's usual ones. */
	env: Record<string, string> = {};
	readonly #t: TestContext;

	constructor(t: TestContext) {
		this.#t = t;
		defer(t, () => rmSync(this.folder, { recursive: true, force: true }));
		mkdirSync(join(this.folder, "scripts"));
		for (const file of [".npmrc", "scripts/hosts.js", "scripts/setup.js"]) {
			copyFileSync(join(root, file), join(this.folder, file));
		}
		this.commitTo({});
		this.lock(tool);
	}

	/** Writes the table of hosts, with other integrities than the right ones where given. */
	commitTo(wrong: Record<string, string>): void {
		const packs = (...list: Pack[]): object =>
			Object.fromEntries(list.map(({ name, version, integrity }) => [`${name}@${version}`, wrong[name] ?? integrity]));
		const table = { [newest]: packs(pi, jiti), [`node-22-${process.platform}-${process.arch}`]: packs(node) };
		this.#write("scripts/hosts.json", table);
	}

	/** Writes manifest and lock file, with this as the only package. If it has to be there, it wants a Node that nobody has. */
	lock({ name, version, integrity }: Omit<Pack, "tarball">, kind = "dev"): void {
		const manifest = { name: "clone", version: "1.0.0", type: "module", [`${kind}Dependencies`]: { [name]: version } };
		const engines = kind === "optional" ? {} : { node: ">=99" };
		const entry = { version, integrity, [kind]: true, bin: { [name]: `${name}.js` }, engines };
		const packages = { "": manifest, [`node_modules/${name}`]: entry };
		this.#write("package.json", manifest);
		this.#write("package-lock.json", { name: "clone", version: "1.0.0", lockfileVersion: 3, requires: true, packages });
	}

	/** Starts the set-up, in a process group of its own. */
	start(args: readonly string[], own = process.execPath): { pid: number; ended: Promise<Ended> } {
		const env = {
			PATH: process.env["PATH"] ?? "",
			HOME: this.folder,
			npm_config_registry: this.registry.url,
			npm_config_cache: join(this.folder, "cache"),
			...this.env,
		};
		const child = spawn(own, [join(this.folder, "scripts/setup.js"), ...args], {
			cwd: this.folder,
			env,
			stdio: ["ignore", "ignore", "pipe"],
			detached: true,
		});
		const pid = child.pid as number;
		let stderr = "";
		child.stderr.setEncoding("utf8").on("data", (part: string) => (stderr += part));
		const ended = once(child, "close").then(([code]) => ({ code: code as number | null, stderr }));
		defer(this.#t, () => child.exitCode ?? kill(pid));
		return { pid, ended };
	}

	run(...args: string[]): Promise<Ended> {
		return this.start(args).ended;
	}

	/** The names in a folder; none if there is no such folder. */
	list(folder: string): string[] {
		const path = join(this.folder, folder);
		return existsSync(path) ? readdirSync(path).sort() : [];
	}

	#write(file: string, content: object): void {
		writeFileSync(join(this.folder, file), JSON.stringify(content));
	}
}

async function clone(t: TestContext): Promise<Clone> {
	const made = new Clone(t);
	await made.registry.listen(t);
	return made;
}

/** Ends a process and all that it has started. */
function kill(pid: number): void {
	try {
		process.kill(-pid, "SIGKILL");
	} catch {
		// It has ended by itself.
	}
}

test("set-up brings pi and what stands beside it; after that it asks nobody", async (t) => {
	const fresh = await clone(t);
	assert.equal((await fresh.run()).code, 0);
	assert.deepEqual(fresh.list(".hosts"), [newest]);
	assert.deepEqual(fresh.list(`.hosts/${newest}/dist/bundle`), ["cli.js"]);
	assert.deepEqual(fresh.list(`.hosts/${newest}/node_modules`), ["jiti"]);
	assert.deepEqual(fresh.list("node_modules"), []);
	const { length } = fresh.registry.requests;
	assert.deepEqual(await fresh.run(), { code: 0, stderr: "" });
	assert.equal(fresh.registry.requests.length, length);
});

test("a pack that is not the one we committed to is refused, and nothing of it is kept", async (t) => {
	const fresh = await clone(t);
	await fresh.run();
	fresh.commitTo({ jiti: other.integrity });
	const { code, stderr } = await fresh.run();
	assert.equal(code, 1);
	assert.ok(stderr.includes(`jiti@2.7.0: expected integrity ${other.integrity}, got ${jiti.integrity}.`), stderr);
	assert.deepEqual(fresh.list(".hosts"), [newest]);
	fresh.commitTo({});
	assert.deepEqual(await fresh.run(), { code: 0, stderr: "" });
});

test("with no registry in reach set-up says in one message what to do", async (t) => {
	const fresh = await clone(t);
	fresh.registry.url = "http://127.0.0.1:1/";
	const { code, stderr } = await fresh.run("packages");
	assert.equal(code, 1);
	assert.match(
		stderr,
		/ECONNREFUSED[^]*\nCheck the network, proxies and `npm config get registry`, then run the same command again\.\n$/,
	);
	assert.equal(stderr.match(/Check the network/g)?.length, 1);
	assert.deepEqual(fresh.list(".hosts"), []);
});

test("what npm is told for other projects changes nothing here", async (t) => {
	const fresh = await clone(t);
	for (const kind of ["dev", "optional"]) {
		fresh.lock(tool, kind);
		fresh.env = {
			npm_config_omit: kind, // as NODE_ENV=production says for dev
			npm_config_bin_links: "false",
			npm_config_engine_strict: "true",
			npm_config_pack_destination: tmpdir(),
		};
		assert.equal((await fresh.run("packages")).code, 0);
		assert.deepEqual(fresh.list("node_modules/.bin"), ["tool"]);
	}
});

test("a cache that npm cannot write is not taken for a network that fails", async (t) => {
	const fresh = await clone(t);
	fresh.env = { npm_config_cache: join(fresh.folder, "package.json/cache") };
	const { code, stderr } = await fresh.run();
	assert.equal(code, 1);
	assert.match(
		stderr,
		/ENOTDIR[^]*\nSet npm_config_cache to a folder that you can write, then run the same command again\.\n$/,
	);
});

test("without tar set-up says that it needs it", async (t) => {
	const fresh = await clone(t);
	fresh.env = { PATH: join(fresh.folder, "bin") };
	mkdirSync(join(fresh.folder, "bin"));
	for (const name of ["node", "npm"]) {
		const path = execFileSync("/bin/sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
		symlinkSync(path, join(fresh.folder, "bin", name));
	}
	const { code, stderr } = await fresh.run();
	assert.equal(code, 1);
	assert.match(stderr, /\nInstall tar, then run the same command again\.\n$/);
	assert.deepEqual(fresh.list(".hosts"), []);
});

test("a set-up that was killed is repaired by the next one", async (t) => {
	const fresh = await clone(t);
	for (const [args, awaited, folder] of [
		[[], pi, newest],
		[["packages"], tool, "node_modules"],
	] as const) {
		fresh.registry.silent = true;
		const { pid, ended } = fresh.start(args);
		await fresh.registry.asked(awaited.name);
		kill(pid);
		await ended;
		assert.ok(fresh.list(".hosts").includes(`.${folder}-${pid}`));
		assert.ok(!existsSync(join(fresh.folder, folder)) && !existsSync(join(fresh.folder, ".hosts", folder)));
		fresh.registry.silent = false;
		assert.equal((await fresh.run(...args)).code, 0);
		assert.deepEqual(fresh.list(".hosts"), [newest]);
	}
	assert.ok(fresh.list("node_modules").includes("tool"));
});

test("two set-ups at once both succeed", async (t) => {
	const fresh = await clone(t);
	const both = await Promise.all([fresh.run("packages"), fresh.run("packages")]);
	assert.deepEqual(
		both.map(({ code }) => code),
		[0, 0],
	);
	assert.deepEqual(fresh.list(".hosts"), [newest]);
	assert.deepEqual(await fresh.run("packages"), { code: 0, stderr: "" });
});

test("packages come without the list of their versions, and a wrong one leaves node_modules as it was", async (t) => {
	const fresh = await clone(t);
	assert.equal((await fresh.run("packages")).code, 0);
	const asked = fresh.registry.requests.filter((url) => url.includes("tool"));
	assert.deepEqual(asked, ["/npm/tool/-/tool-1.0.0.tgz"]);
	const installed = fresh.list("node_modules");
	fresh.lock({ ...jiti, integrity: other.integrity });
	const { code, stderr } = await fresh.run("packages");
	assert.equal(code, 1);
	assert.match(stderr, /EINTEGRITY/);
	assert.deepEqual(fresh.list("node_modules"), installed);
});

for (const [version, fits] of [
	["20.19.5", false],
	["22.18.0", false],
	["22.19.0", true],
	["23.11.1", false],
	["24.0.0", true],
	["26.1.0", true],
] as const) {
	test(`Node ${version} ${fits ? "serves" : "does not serve, so one that does is brought"}`, async (t) => {
		const fresh = await clone(t);
		const versions = `{ value: { ...process.versions, node: "${version}" } }`;
		writeFileSync(
			join(fresh.folder, "version.cjs"),
			`Object.defineProperty(process, "versions", ${versions}); require("node:module").syncBuiltinESMExports();`,
		);
		fresh.env = { NODE_OPTIONS: `--require ${join(fresh.folder, "version.cjs")}` };
		assert.equal((await fresh.run()).code, 0);
		assert.deepEqual(fresh.list(".hosts"), fits ? [newest] : [newest, "node-22"]);
	});
}

test("where the machine's own Node does not fit, npm scripts find one that does", async (t) => {
	const fresh = await clone(t);
	const own = join(fresh.folder, "node"); // A Node inside the project counts as one that we brought.
	copyFileSync(process.execPath, own);
	for (const args of [[], ["packages"]]) {
		assert.equal((await fresh.start(args, own).ended).code, 0);
		assert.equal(execFileSync(join(fresh.folder, "node_modules/.bin/node"), { encoding: "utf8" }), "fitting\n");
	}
});
