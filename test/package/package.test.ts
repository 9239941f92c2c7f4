import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { bash, calls, host, mark, text, times } from "../harness/index.ts";

const root = resolve(import.meta.dirname, "../..");
const hostCli = join(root, "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js");
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
	const packed = await run("npm", ["pack", "--loglevel=error", "--pack-destination", project], { cwd: root });
	tarball = join(project, packed.trim().split("\n").at(-1) ?? "");
	writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
	await run("npm", ["install", "--offline", "--loglevel=error", tarball]);
	// What the user of the library has installed anyway.
	symlinkSync(join(root, "node_modules/@earendil-works"), join(project, "node_modules/@earendil-works"));
	symlinkSync(join(root, "node_modules/@types"), join(project, "node_modules/@types"));
	cpSync(join(root, "examples"), join(project, "examples"), { recursive: true });
});

after(() => rmSync(project, { recursive: true, force: true }));

test("the install brings one package and no other", () => {
	const lock = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8")) as { packages: object };
	assert.deepEqual(Object.keys(lock.packages), ["", "node_modules/pi-turn-limit"]);
});

test("the package holds what it needs and nothing of the tests", () => {
	const files = readdirSync(join(project, "node_modules/pi-turn-limit")).sort();
	assert.deepEqual(files, [
		...["CHANGELOG.md", "LICENSE", "README.md", "dist", "package.json", "schema.json", "spec", "src"],
	]);
});

test("library and core import under plain Node", async () => {
	const source = `
		import { LimitExceeded, OUTCOME_ENTRY, OUTCOME_EVENT, turnLimit } from "pi-turn-limit";
		import { create, transition } from "pi-turn-limit/core";
		console.log(typeof turnLimit, typeof create, typeof transition, LimitExceeded.name, OUTCOME_EVENT, OUTCOME_ENTRY);`;
	const printed = await run(process.execPath, ["--input-type=module", "--eval", source]);
	assert.equal(printed, "function function function LimitExceeded turn-limit:outcome turn-limit-outcome\n");
});

test("the types resolve in a strict project", async () => {
	writeFileSync(
		join(project, "use.ts"),
		`import { turnLimit, type Outcome, type Snapshot } from "pi-turn-limit";
		import { create, decide, perMeter, transition, type State } from "pi-turn-limit/core";
		import { DefaultResourceLoader } from "@earendil-works/pi-coding-agent";
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
	const example = (name: string, env: NodeJS.ProcessEnv = {}): Promise<string> =>
		run(process.execPath, [join("examples", name)], { env });

	test("a ten-line embedding", async (t) => {
		const pi = await host(t, { model: [mark(), text("Hello.")] });
		assert.equal(await example("embed.js", pi.env), "completed after 2 turns\nHello.\n");
	});

	test("the program in the README", async (t) => {
		const pi = await host(t, { model: [mark(), text("Hello.")] });
		const program = /^```js\n(.*?)^```$/ms.exec(readFileSync(join(root, "README.md"), "utf8"))?.[1] ?? "";
		writeFileSync(join(project, "examples/readme.js"), program);
		assert.match(await example("readme.js", pi.env), /kind: 'completed'[^]*completed after 2 turns: Hello\.\n$/);
	});

	test("an embedding whose limit is reached", async (t) => {
		const pi = await host(t, { model: times(12) });
		assert.match(
			await example("embed.js", pi.env),
			/^exhausted after 10 turns\nStopped: pi-turn-limit: exhausted at the limit of 10 turns \(option\).*\n$/,
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

	test("a loop of one's own on the core", async () => {
		assert.equal(
			await example("own-loop.js"),
			"A model that obeys: wrapped_up after 4 turns\nA model that does not: exhausted after 5 turns\n",
		);
	});
});

describe("pi installs it, is limited by it, and is as before when it is removed:", () => {
	const env = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "0" };
	const endless = { model: (_: unknown, n: number) => (n < 5 ? mark() : text("done")), env, extension: false };
	const sources = { "the directory": () => root, "the packed tarball": () => `npm:pi-turn-limit@file:${tarball}` };

	for (const [name, source] of Object.entries(sources)) {
		test(name, async (t) => {
			const pi = await host(t, endless);
			const cli = (...args: string[]): Promise<string> => run(process.execPath, [hostCli, ...args], pi);
			const prompt = ["--offline", "--no-session", "-p", "go"];
			const before = readFileSync(join(pi.agentDir, "settings.json"), "utf8");
			await cli("install", source());
			await assert.rejects(cli(...prompt), { code: 53 });
			assert.equal(pi.model.requests.length, 2);
			await cli("remove", source());
			assert.equal(await cli(...prompt), "done\n");
			assert.deepEqual(settings(readFileSync(join(pi.agentDir, "settings.json"), "utf8")), settings(before));
		});
	}

	/** Pi writes an empty list where there was none. */
	const settings = (json: string): object => ({ packages: [], ...(JSON.parse(json) as object) });
});

test("pi loads it from an installed dependency", async (t) => {
	const pi = await host(t, {
		...{ model: times(9), env: { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "0" }, extension: false },
		before: [join(project, "node_modules/pi-turn-limit")],
	});
	assert.equal((await pi.print("go")).code, 53);
	assert.equal(pi.model.requests.length, 2);
});
