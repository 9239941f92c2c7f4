import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
	cpSync,
	existsSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { bash, calls, host, mark, reloader, text, times } from "../harness/index.ts";
import { write } from "../harness/folders.ts";
import { compiled } from "../harness/process.ts";
import { loadOdds } from "../../src/history/odds-file.ts";
import type { Odds } from "../../src/history/odds.ts";
import { personsSessions } from "../history/person.ts";
import { tableIn } from "../history/table.ts";
import { defer, type Scope } from "../harness/wait.ts";

const root = resolve(import.meta.dirname, "../..");
const bin = (name: string): string => join(root, "node_modules/.bin", name);

/** An empty project that has our packed tarball installed. */
let project: string;
let tarball: string;

/** Runs a program to its end; gives what it printed. The scripted model answers from here meanwhile. */
async function run(file: string, args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
	const running = promisify(execFile)(file, args, { cwd: project, ...options });
	running.child.stdin?.end();
	return (await running).stdout;
}

before(async () => {
	project = mkdtempSync(join(tmpdir(), "pi-package-"));
	const options = ["--ignore-scripts=false", "--loglevel=error", "--pack-destination", project];
	const packed = await run("npm", ["pack", ...options], { cwd: root });
	tarball = join(project, packed.trim().split("\n").at(-1) ?? "");
	writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
	await run("npm", ["install", "--offline", "--loglevel=error", tarball]);
	// What the user of the library has installed anyway; of pi its bundle, which Node loads in a third of the time.
	const pi = join(root, "node_modules/@earendil-works/pi-coding-agent/dist");
	write(join(project, "node_modules/@earendil-works/pi-coding-agent"), {
		"package.json": { type: "module", exports: { types: "./index.d.ts", default: "./index.js" } },
		"index.js": `export * from ${JSON.stringify(join(pi, "bundle/index.js"))};`,
		"index.d.ts": `export * from ${JSON.stringify(join(pi, "index.js"))};`,
	});
	for (const name of ["ai", "@earendil-works/pi-agent-core", "@earendil-works/pi-ai"])
		symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name));
	symlinkSync(join(root, "node_modules/@types"), join(project, "node_modules/@types"));
	cpSync(join(root, "examples"), join(project, "examples"), { recursive: true });
});

after(() => rmSync(project, { recursive: true, force: true }));

/** Where it is installed. */
const installed = (): string => join(project, "node_modules/pi-turn-limit");

test("the install brings one package and no other", () => {
	const lock = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8")) as { packages: object };
	assert.deepEqual(Object.keys(lock.packages), ["", "node_modules/pi-turn-limit"]);
});

test("the package holds what it needs, nothing of the tests, and no TypeScript to compile", () => {
	assert.deepEqual(readdirSync(installed()).sort(), [
		...["CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "bench", "dist", "docs"],
		...["examples", "package.json", "pi-turn-limit", "schema.json", "spec", "sql"],
	]);
	const files = readdirSync(installed(), { recursive: true, encoding: "utf8" });
	assert.deepEqual(
		files.filter((file) => /(?<!\.d)\.ts$/.test(file)),
		[],
	);
});

test("the bundle holds of other packages what it says, and no client of PostgreSQL", () => {
	const bundle = readdirSync(join(installed(), "pi-turn-limit")).map((name) =>
		readFileSync(join(installed(), "pi-turn-limit", name), "utf8"),
	);
	const packages = bundle.flatMap((text) =>
		[...text.matchAll(/^\/\/ (?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)/gm)].map(([, name]) => name),
	);
	assert.deepEqual([...new Set(packages)].sort(), ["@earendil-works/pi-tui", "get-east-asian-width"]);
});

test("every page in the package links only what is in it", () => {
	const pages = readdirSync(installed(), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md"));
	for (const page of pages.filter((page) => page !== "CONTRIBUTING.md")) {
		const links = readFileSync(join(installed(), page), "utf8").matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g);
		for (const [, link = ""] of links) {
			if (!link.startsWith("https:")) assert.ok(existsSync(join(installed(), dirname(page), link)), `${page}: ${link}`);
		}
	}
});

test("packing leaves nothing behind that pi would load from the clone", () => {
	assert.deepEqual(readdirSync(join(root, "pi-turn-limit")), ["index.ts"]);
});

test("library, core, loop and adapters import under plain Node", async () => {
	const source = `
		import { LimitExceeded, OUTCOME_ENTRY, OUTCOME_EVENT, turnLimit } from "pi-turn-limit";
		import { create, transition } from "pi-turn-limit/core";
		import { loopLimit } from "pi-turn-limit/loop";
		import { limitAgent } from "pi-turn-limit/pi-agent";
		import { aiLimit } from "pi-turn-limit/ai";
		console.log(typeof loopLimit, typeof limitAgent, typeof aiLimit);
		console.log(typeof turnLimit, typeof create, typeof transition, LimitExceeded.name, OUTCOME_EVENT, OUTCOME_ENTRY);`;
	const printed = await run(process.execPath, ["--input-type=module", "--eval", source]);
	assert.equal(
		printed,
		"function function function\nfunction function function LimitExceeded turn-limit:outcome turn-limit-outcome\n",
	);
});

test("the types resolve in a strict project", async () => {
	writeFileSync(
		join(project, "use.ts"),
		`import { turnLimit, type Outcome, type Snapshot } from "pi-turn-limit";
		import { create, decide, perMeter, transition, type State } from "pi-turn-limit/core";
		import { loopLimit, type LoopRun } from "pi-turn-limit/loop";
		import { aiLimit } from "pi-turn-limit/ai";
		import { DefaultResourceLoader } from "@earendil-works/pi-coding-agent";
		export const run: LoopRun = loopLimit({ cost: "$2.50", ask: () => true }).start();
		export const { generateText } = aiLimit({ turns: 3 });
		const limit = turnLimit({ turns: { max: 3, policy: "synthesize" }, onOutcome: (outcome: Outcome) => outcome.kind });
		new DefaultResourceLoader({ cwd: ".", agentDir: ".", extensionFactories: [limit] });
		export const seen: Snapshot = limit.snapshot();
		const max = { max: 1, policy: "abort" } as const;
		const state: State = create({ attended: true, limits: perMeter(() => max), grace: 0 });
		export const [next] = transition(state, { type: "prompted" });
		export const [, decision] = decide(next, { type: "turn_requested" });
		turnLimit({ cost: "$2.50", toolCalls: "unlimited" });
		// @ts-expect-error: not a policy
		turnLimit({ policy: "raise" });`,
	);
	const options = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "--module", "nodenext"];
	await run(bin("tsc"), [...options, "--target", "es2023", "--types", "node", "use.ts"]);
});

describe("the examples run", () => {
	const example = (name: string, env: Record<string, string> = {}): Promise<string> =>
		run(process.execPath, [join("examples", name)], { env: compiled(env) });

	test("a ten-line embedding", async (t) => {
		const pi = await host(t, { model: [mark(), text("Hello.")] });
		assert.equal(await example("embed.js", pi.env), "completed after 2 turns\nHello.\n");
	});

	test("the program in the manual", async (t) => {
		const pi = await host(t, { model: [mark(), text("Hello.")] });
		const program = /^```js\n(.*?)^```$/ms.exec(readFileSync(join(root, "docs/embedding.md"), "utf8"))?.[1] ?? "";
		writeFileSync(join(project, "examples/manual.js"), program);
		assert.match(await example("manual.js", pi.env), /kind: 'completed'[^]*completed after 2 turns: Hello\.\n$/);
	});

	test("an embedding whose limit is reached", async (t) => {
		const pi = await host(t, { model: times(12) });
		assert.match(
			await example("embed.js", pi.env),
			/^exhausted after 10 turns\nStopped: pi-turn-limit: stopped at the limit of 10 turns \(option\).*\n$/,
		);
	});

	test("a subagent that reports a partial result to its parent", async (t) => {
		const pi = await host(t, {
			model: (request) => {
				const isParent = request.body.tools?.some((tool) => tool.function.name === "delegate");
				if (isParent && request.count("Partial result") === 0)
					return calls({ name: "delegate", args: { task: "Look." } });
				if (isParent) return text(`The subagent said: ${request.last}`);
				return request.count("Not run.") > 0 ? text("Three things.") : calls(...["a", "b"].map(() => bash("true")));
			},
		});
		assert.equal(
			await example("subagent.js", pi.env),
			"The subagent said: Partial result (synthesized): Three things.\n",
		);
	});

	test("the AI SDK under a limit", async () => {
		assert.equal(await example("ai-sdk.js"), "synthesized after 4 turns: Three things.\n");
	});

	test("pi's bare agent under a limit", async () => {
		assert.equal(await example("pi-agent.js"), "synthesized after 4 turns: Three things.\n");
	});

	test("a loop of one's own", async () => {
		assert.equal(
			await example("own-loop.js"),
			"A model that obeys: wrapped_up after 4 turns\nA model that does not: exhausted after 5 turns\n",
		);
	});
});

/** Five requests, of which a limit admits two. */
const endless = {
	model: (_: unknown, n: number) => (n < 5 ? mark() : text("done")),
	env: { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "0" },
	extension: false,
};

describe("pi installs it, is limited by it, and is as before when it is removed:", () => {
	const sources = { "the directory": () => root, "the packed tarball": () => `npm:pi-turn-limit@file:${tarball}` };

	for (const [name, source] of Object.entries(sources)) {
		test(name, async (t) => {
			const pi = await host(t, endless);
			const prompt = ["--offline", "--no-session", "-p", "go"];
			const before = readFileSync(join(pi.agentDir, "settings.json"), "utf8");
			assert.equal((await pi.typed("install", source())).code, 0);
			assert.equal((await pi.typed(...prompt)).code, 53);
			assert.equal(pi.model.requests.length, 2);
			assert.equal((await pi.typed("remove", source())).code, 0);
			assert.equal((await pi.typed(...prompt)).stdout, "done\n");
			assert.deepEqual(settings(readFileSync(join(pi.agentDir, "settings.json"), "utf8")), settings(before));
		});
	}

	/** Pi writes an empty list where there was none. */
	const settings = (json: string): object => ({ packages: [], ...(JSON.parse(json) as object) });
});

test("pi loads it from an installed dependency", async (t) => {
	const pi = await host(t, { ...endless, before: [installed()] });
	assert.equal((await pi.print("go")).code, 53);
	assert.equal(pi.model.requests.length, 2);
});

describe("pi imports of the package", () => {
	/** The folders whose sources, bundled or not, a real pi imports. */
	async function imported(t: Scope, prompt: string, env: Record<string, string> = {}): Promise<string[]> {
		const recorder = `import { appendFileSync } from "node:fs";
			import { registerHooks } from "node:module";
			registerHooks({ load(url, context, load) { appendFileSync("imported", url + "\\n"); return load(url, context); } });`;
		const pi = await host(t, {
			...{ fresh: true, extension: false, before: [installed()], files: { "recorder.mjs": recorder } },
			env: { ...env, NODE_OPTIONS: "--import ./recorder.mjs" },
		});
		await pi.print(prompt);
		const urls = readFileSync(join(pi.cwd, "imported"), "utf8").trim().split("\n");
		const ours = urls.filter((url) => url.includes("/node_modules/pi-turn-limit/"));
		const sources = ours.flatMap((url) => readFileSync(new URL(url), "utf8").match(/(?<=^\/\/ ).+\.[jt]s$/gm) ?? []);
		const folders = sources.map((source) => dirname(source).replace(/^.*(?=node_modules)/, ""));
		return [...new Set(folders.map((folder) => folder.replace(/^(src\/(?:hosts\/)?\w+).*/, "$1")))].sort();
	}

	const always = ["src/core", "src/hosts/pi", "src/loop", "src/settings"];

	test("neither ledgers, nor history, nor what a dialog needs, at its start", async (t) => {
		assert.deepEqual(await imported(t, "go"), always);
	});

	test("the history, to advise", async (t) => {
		assert.deepEqual(await imported(t, "/turn-limit advise"), [...always, "src/history"].sort());
	});

	test("the ledger, if a day is limited", async (t) => {
		const day = { PI_TURN_LIMIT_DAY_TURNS: "5" };
		assert.deepEqual(await imported(t, "go", day), [...always, "src/ledger"].sort());
	});
});

test("pi makes the table of odds from the package, in a thread", async (t) => {
	const agentFiles = personsSessions();
	const pi = await host(t, { extension: false, before: [installed()], agentFiles, fresh: true });
	const rpc = await pi.rpc();
	await rpc.run("go");
	await tableIn(pi.agentDir);
	assert.equal((loadOdds(pi.agentDir) as Odds).prompts, 240);
});

describe("pi reloads after an update of the package", () => {
	const before = "Nothing is running.";

	/** What `/turn-limit wrap-up` says, once the bundle of a running pi has changed and pi has reloaded. */
	async function afterUpdate(t: Scope, change: (bundle: string) => string): Promise<string | undefined> {
		const folder = copied(t, installed());
		const bundle = join(folder, "pi-turn-limit/index.js");
		const pi = await host(t, { extension: false, before: [folder], after: [reloader] });
		const rpc = await pi.rpc();
		await rpc.prompt("/turn-limit wrap-up");
		assert.equal(rpc.notifications.at(-1)?.message, before);
		writeFileSync(bundle, change(readFileSync(bundle, "utf8")));
		await rpc.prompt("/reload-now");
		const { length } = rpc.notifications;
		await rpc.prompt("/turn-limit wrap-up");
		return rpc.notifications.slice(length).at(-1)?.message;
	}

	test("and runs the new version", async (t) => {
		assert.equal(await afterUpdate(t, (bundle) => bundle.replace(before, "Updated.")), "Updated.");
	});

	test("and goes on with the old one if the new one cannot be loaded", async (t) => {
		assert.equal(await afterUpdate(t, () => "throw new Error('half an update');"), before);
	});

	test("and until then runs nothing that a file it no longer has would limit", async (t) => {
		const folder = copied(t, installed());
		const pi = await host(t, { ...endless, before: [folder], after: [reloader] });
		const rpc = await pi.rpc({ answer: () => false });
		const bundle = join(folder, "pi-turn-limit");
		renameSync(bundle, join(folder, "gone"));
		await rpc.prompt("/turn-limit day turns 1");
		await rpc.prompt("go");
		await rpc.settled();
		assert.match(rpc.notifications.at(-1)?.message ?? "", /failed and stopped the run: .*Cannot find module/);
		assert.equal(pi.model.requests.length, 0);
		cpSync(join(folder, "gone"), bundle, { recursive: true });
		await rpc.prompt("/reload-now");
		await rpc.prompt("go");
		await rpc.settled();
		assert.equal(pi.model.requests.length, 1);
	});
});

describe("a clone", () => {
	test("runs its sources, whatever bundle was left behind", async (t) => {
		const clone = copied(t, root, "package.json", "pi-turn-limit");
		symlinkSync(join(root, "src"), join(clone, "src"));
		writeFileSync(join(clone, "pi-turn-limit/index.js"), "throw new Error('left behind');");
		const pi = await host(t, { ...endless, before: [clone] });
		assert.equal((await pi.print("go")).code, 53);
		assert.equal(pi.model.requests.length, 2);
	});
});

for (const [name, folder] of Object.entries({ "a clone": () => root, "the package": installed })) {
	test(`pi's start screen says pi-turn-limit for ${name}`, async (t) => {
		const pi = await host(t, { extension: false, before: [folder()], settings: { quietStartup: false } });
		const terminal = await pi.terminal();
		await terminal.shows(/\[Extensions\]\s+pi-turn-limit\s/);
	});
}

test("a program's limit outranks the installed extension: they share one claim on the session", async (t) => {
	const pi = await host(t, endless);
	const program = readFileSync(join(root, "examples/embed.js"), "utf8")
		.replace("turns: 10", "turns: 3")
		.replace("noExtensions: true", "noExtensions: true, additionalExtensionPaths: ['node_modules/pi-turn-limit']")
		.replace(/(resourceLoader)\.reload\(\);/, "$&\nconsole.log($1.getExtensions().extensions.length, 'extensions');");
	writeFileSync(join(project, "both.js"), program);
	const printed = await run(process.execPath, ["both.js"], { env: pi.env });
	assert.match(
		printed,
		/^2 extensions\nexhausted after 3 turns\nStopped: pi-turn-limit: stopped at the limit of 3 turns \(option\)/,
	);
	assert.equal(pi.model.requests.length, 3);
});

/** A copy of a folder, or of some of its contents, for one test. */
function copied(t: Scope, from: string, ...names: string[]): string {
	const folder = mkdtempSync(join(tmpdir(), "pi-package-"));
	defer(t, () => rmSync(folder, { recursive: true, force: true }));
	for (const name of names.length > 0 ? names : readdirSync(from))
		cpSync(join(from, name), join(folder, name), { recursive: true });
	return folder;
}
