/** A pi that runs where another one has run finds a process like new. Not for PI_TEST_FRESH, where no process is used again. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { bash, calls, endless, held, host, mark, text, type Host } from "./index.ts";

const bare = { extension: false, model: endless(text("done")) };

/** Writes down, at the end of its first run, what it finds in its process. */
function looks(pi: ExtensionAPI): void {
	const { writeFileSync } = process.getBuiltinModule("node:fs");
	let isFirst = true;
	pi.on("agent_start", () => {
		if (!isFirst) return;
		isFirst = false;
		const { pid, title, argv, exitCode } = process;
		const globals = Reflect.ownKeys(globalThis).map(String);
		const left = [...globals, ...Object.keys(process.env), ...argv].filter((name) => name.includes("left behind"));
		const events = ["exit", "beforeExit", "SIGTERM", "SIGHUP", "SIGINT", "uncaughtException", "unhandledRejection"];
		const listeners = [
			...events.map((name) => process.listenerCount(name)),
			process.stdin.listenerCount("data"),
			process.stdout.listenerCount("resize"),
		];
		writeFileSync("seen", JSON.stringify({ pid, here: { title, exitCode, left, listeners } }));
	});
}

/** Leaves something in every place that it can reach. */
function leaves(pi: ExtensionAPI): void {
	pi.on("agent_settled", () => {
		process.title = "left behind";
		process.argv.push("left behind");
		Object.assign(globalThis, { "left behind": true, [Symbol.for("left behind")]: true });
		for (const name of ["exit", "SIGTERM", "SIGHUP", "uncaughtException"]) process.on(name, () => {});
		process.stdin.on("data", () => {});
		process.stdout.on("resize", () => {});
		setInterval(() => (process.env["left behind"] = "x"), 1);
	});
}

interface Seen {
	pid: number;
	here: object;
}

/** What `looks` has seen in the last pi of a sandbox. */
const seen = (sandbox: Host): Seen => JSON.parse(readFileSync(join(sandbox.cwd, "seen"), "utf8")) as Seen;

/** A test in a test, so that what belongs to it ends before the other one goes on. */
async function within(body: (scope: { after: (undo: () => unknown) => void }) => Promise<void>): Promise<void> {
	const undos: (() => unknown)[] = [];
	await body({ after: (undo) => undos.push(undo) });
	for (const undo of undos) await undo();
}

const WAYS: Record<string, (sandbox: Host) => Promise<unknown>> = {
	"in print mode": (sandbox) => sandbox.print("go"),
	"over rpc": async (sandbox) => (await sandbox.rpc()).run("go"),
	"in a terminal": async (sandbox) => {
		const terminal = await sandbox.terminal();
		terminal.type("go\r");
		assert.doesNotMatch(await terminal.shows("done"), /half typed/);
		terminal.type("half typed");
		await terminal.shows("half typed");
	},
};

for (const [way, run] of Object.entries(WAYS)) {
	test(`nothing that a pi has left behind meets the next one (${way})`, async (t) => {
		let first: Seen | undefined;
		await within(async (scope) => {
			const sandbox = await host(scope, { ...bare, after: [looks, leaves] });
			await run(sandbox);
			first = seen(sandbox);
		});
		const [used, fresh] = [{}, { fresh: true }].map((options) => host(t, { ...bare, ...options, after: [looks] }));
		for (const sandbox of [await used, await fresh]) if (sandbox) await run(sandbox);
		const [second, expected] = [seen((await used)!), seen((await fresh)!)];
		assert.equal(second.pid, first?.pid);
		assert.notEqual(second.pid, expected.pid);
		assert.deepEqual(second.here, expected.here);
	});
}

test("a module of an extension is loaded anew, also in the same folder", async (t) => {
	const files = { "counts.ts": "let n = 0; export default () => console.error(`load ${++n}`);" };
	const sandbox = await host(t, { ...bare, files, after: ["./counts.ts"] });
	for (let i = 0; i < 2; i++) assert.equal((await sandbox.print("go")).stderr, "load 1\n");
});

for (const [what, leave] of [
	["a timer", (pi: ExtensionAPI) => pi.on("agent_settled", () => void setTimeout(() => {}, 1e9))],
	[
		"a child",
		(pi: ExtensionAPI) =>
			pi.on("agent_settled", () => void process.getBuiltinModule("node:child_process").spawn("sleep", ["5"])),
	],
] as const) {
	test(`a process in which a pi has left ${what} is not used again`, async (t) => {
		const [first, second] = [
			await host(t, { ...bare, after: [looks, leave] }),
			await host(t, { ...bare, after: [looks] }),
		];
		const rpc = await first.rpc();
		await rpc.run("go");
		await rpc.close();
		await second.print("go");
		assert.notEqual(seen(first).pid, seen(second).pid);
	});
}

test("where an extension ends the process, pi ends there with that code, and the next one runs", async (t) => {
	const ends = (pi: ExtensionAPI): unknown => pi.on("turn_start", () => process.exit(7));
	const { code, stdout } = await (await host(t, { ...bare, after: [ends] })).print("go");
	assert.deepEqual({ code, stdout }, { code: 7, stdout: "" });
	assert.equal((await (await host(t, bare)).print("go")).stdout, "done\n");
});

test("what listens to the end of the process is called with pi's code and can change it", async (t) => {
	const listens = (pi: ExtensionAPI): void => {
		pi.on("session_start", () => {
			process.once("exit", (code) => {
				console.error(`exit ${code}`);
				process.exitCode = 9;
			});
		});
	};
	const sandbox = await host(t, { extension: false, model: [], after: [listens] });
	const { code, stderr } = await sandbox.print("go");
	assert.equal(code, 9);
	assert.match(stderr, /\nexit 1\n$/);
	assert.equal((await (await host(t, bare)).print("go")).code, 0);
});

test("a run that goes on when its test ends sends nothing more, and the next pi runs", async (t) => {
	const unfinished = [
		{ model: [held()], arrives: 1 },
		{ model: [calls(bash("sleep 60")), mark()], arrives: 1 },
	];
	for (const { model, arrives } of unfinished) {
		let sandbox: Host | undefined;
		await within(async (scope) => {
			sandbox = await host(scope, { extension: false, model });
			await (await sandbox.rpc()).prompt("go");
			await sandbox.model.arrival(arrives);
		});
		assert.equal(sandbox?.model.requests.length, arrives);
		assert.equal((await (await host(t, bare)).print("go")).stdout, "done\n");
	}
});
