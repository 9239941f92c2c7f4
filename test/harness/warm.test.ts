/** A pi that runs where another one has run finds a process like new. Not for PI_TEST_FRESH, where no process is used again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { bash, calls, endless, held, host, mark, text, type Extra, type HostOptions } from "./index.ts";

const bare = { extension: false, model: endless(text("done")) };

/** Says what it finds in its process. The exit code is what it would be if pi set none. */
function looks(pi: ExtensionAPI): void {
	pi.on("session_start", () => {
		const { pid, title, argv, exitCode } = process;
		const names = Reflect.ownKeys(globalThis).map(String);
		const left = names.filter((name) => name.includes("left behind"));
		const events = ["exit", "beforeExit", "SIGTERM", "SIGHUP", "SIGINT", "uncaughtException", "unhandledRejection"];
		const listeners = events.map((name) => process.listenerCount(name));
		const variables = Object.keys(process.env).filter((name) => name.startsWith("LEFT"));
		console.error(
			JSON.stringify({
				pid,
				here: { title, exitCode, cwd: process.cwd(), left, variables, args: argv.at(-1), listeners },
			}),
		);
	});
}

/** Leaves something in every place that it can reach. */
function leaves(pi: ExtensionAPI): void {
	pi.on("agent_settled", () => {
		process.env["LEFT"] = "x";
		process.title = "left behind";
		process.argv.push("left behind");
		Object.assign(globalThis, { "left behind": true, [Symbol.for("left behind")]: true });
		for (const name of ["exit", "SIGTERM", "SIGHUP", "uncaughtException"])
			process.on(name, () => console.error("left behind"));
		setInterval(() => console.error("left behind"), 1);
	});
}

interface Seen {
	pid: number;
	here: object;
}

const seenIn = (stderr: string): Seen => JSON.parse(stderr.split("\n")[0] ?? "") as Seen;

/** Two runs of pi in print mode in one sandbox, or a run over rpc and one in print mode. */
async function twice(t: Parameters<typeof host>[0], first: "print" | "rpc", left: Extra[], options: HostOptions = {}) {
	const sandbox = await host(t, { ...bare, ...options, after: [looks, ...left] });
	let stderr = "";
	if (first === "print") ({ stderr } = await sandbox.print("go"));
	else {
		const rpc = await sandbox.rpc();
		await rpc.run("go");
		({ stderr } = await rpc.close());
	}
	const second = await sandbox.print("go");
	return { sandbox, first: seenIn(stderr), second: seenIn(second.stderr), result: second };
}

for (const mode of ["print", "rpc"] as const) {
	test(`nothing that a pi (${mode}) has left behind meets the next one`, async (t) => {
		const { first, second, result } = await twice(t, mode, [leaves]);
		assert.equal(first.pid, second.pid);
		// It leaves something in its own run too, which is seen when that ends.
		assert.equal(result.stderr.split("left behind").length - 1 <= 2, true, result.stderr);
		const fresh = await host(t, { ...bare, fresh: true, after: [looks] });
		const there = seenIn((await fresh.print("go")).stderr);
		const expected = { ...there.here, cwd: (second.here as { cwd: string }).cwd };
		assert.deepEqual(second.here, expected);
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
			pi.on("agent_settled", () => void process.getBuiltinModule("node:child_process").spawn("sleep", ["60"])),
	],
] as const) {
	test(`a process in which a pi has left ${what} is not used again`, async (t) => {
		const sandbox = await host(t, { ...bare, after: [looks, leave] });
		const rpc = await sandbox.rpc();
		await rpc.run("go");
		const first = seenIn((await rpc.close()).stderr);
		const second = seenIn((await (await host(t, { ...bare, after: [looks] })).print("go")).stderr);
		assert.notEqual(first.pid, second.pid);
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
		const undo: (() => unknown)[] = [];
		const sandbox = await host({ after: (end) => undo.push(end) }, { extension: false, model });
		const rpc = await sandbox.rpc();
		await rpc.prompt("go");
		await sandbox.model.arrival(arrives);
		for (const end of undo) await end();
		assert.equal(sandbox.model.requests.length, arrives);
		assert.equal((await (await host(t, bare)).print("go")).stdout, "done\n");
	}
});
