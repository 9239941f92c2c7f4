/** The process is pi's own and the session is the person's, whatever other extensions do before ours is loaded. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
	bash,
	calls,
	cli,
	endless,
	type Extra,
	type Host,
	host,
	type HostOptions,
	mark,
	node,
	type Reply,
	type Request,
	root,
	text,
} from "../harness/index.ts";
import { Terminal } from "../harness/terminal.ts";

const firstChild = join(import.meta.dirname, "first-child.ts");
const startMaker = join(import.meta.dirname, "start-maker.ts");

const OTHERS: Readonly<Record<string, Extra>> = {
	"sets the title of the process": () => {
		process.title = "pi: myproject";
	},
	"makes pi's theme": join(import.meta.dirname, "theme-maker.ts"),
	"runs an agent of its own while pi loads extensions": firstChild,
};

const isOfChild = (request: Request): boolean => request.texts("user")[0] === "child";

/** The other extension's agent answers at once; everybody else works without end. */
const model = (request: Request): Reply => (isOfChild(request) ? text("Remembered.") : mark());

const requests = ({ model }: Host): number => model.turns.filter((request) => !isOfChild(request)).length;

const ALONE = { PI_TURN_LIMIT_GRACE: "0", CHILD_AT: "load" };

/** Ours is installed, so that the agents of others load it too. */
const beside = (others: readonly Extra[]): HostOptions => ({
	...{ model, before: others, settings: { packages: [root] }, fresh: true },
});

for (const [does, other] of Object.entries(OTHERS)) {
	test(`beside an extension that ${does} a script shares a tree with an agent that its bash starts, is stopped with 53 and says why`, async (t) => {
		const starts = calls(bash(`"${node}" "${cli}" --offline --no-session -p look < /dev/null`));
		const works = (request: Request): Reply =>
			request.texts("user")[0] === "go" && request.texts("assistant").length === 0 ? starts : model(request);
		const pi = await host(t, { ...beside([other]), model: works, env: { ...ALONE, PI_TURN_LIMIT_TREE_TURNS: "4" } });
		const { stderr, code } = await pi.print("go");
		assert.deepEqual([requests(pi), code], [4, 53]);
		assert.match(stderr, /^pi-turn-limit: stopped at the limit of 4 turns in this tree of agents /m);
	});
}

describe("beside all of them", () => {
	const options = { ...beside(Object.values(OTHERS)), env: { ...ALONE, PI_MAX_TURNS: "3" } };

	test("a script in json mode that a limit stops exits with 53 and says why", async (t) => {
		const pi = await host(t, options);
		const { stderr, code } = await pi.json("go");
		assert.deepEqual([requests(pi), code], [3, 53]);
		assert.match(stderr, /^pi-turn-limit: stopped at the limit of 3 turns /m);
	});

	test("the person is asked over rpc, also after a new session", async (t) => {
		const pi = await host(t, options);
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		await rpc.newSession();
		await rpc.run("go");
		assert.deepEqual([requests(pi), rpc.questions.length], [6, 2]);
	});
});

interface Company {
	readonly others: readonly Extra[];
	readonly packages?: readonly string[];
	readonly at?: string;
	/** Without pi's built-in extensions nothing would tell. */
	readonly isToldByBuiltIn?: boolean;
}

/** As a person installs them: `others` run before ours, and agents that they start load the packages too. */
const talk: Readonly<Record<string, Company>> = {
	"runs an agent while pi loads, and another, loaded after ours, does what pi does at its start": {
		others: [firstChild],
		packages: [root, startMaker],
	},
	"runs an agent while pi loads, and another, loaded before ours, does what pi does at its start": {
		others: [firstChild],
		packages: [startMaker, root],
	},
	"runs an agent when the session starts, and another, loaded after ours, does what pi does at its start": {
		others: [firstChild],
		packages: [root, startMaker],
		at: "session_start",
	},
	"removes pi's listeners when the session starts": {
		others: [(pi) => void pi.on("session_start", () => void process.removeAllListeners("SIGTERM"))],
	},
	"puts the old theme back when the session starts": {
		isToldByBuiltIn: true,
		others: [
			(pi) => {
				const key = Symbol.for("@earendil-works/pi-coding-agent:theme");
				const slot = globalThis as { [key]?: unknown };
				const old = slot[key];
				pi.on("session_start", () => void (slot[key] = old));
			},
		],
	},
	"gives the process another script and another title": {
		isToldByBuiltIn: true,
		others: [
			() => {
				process.argv = ["node", "/elsewhere/my-tool", ...process.argv.slice(2)];
				process.title = "my-tool";
			},
		],
	},
};

for (const [does, { others, packages = [root], at = "load", isToldByBuiltIn }] of Object.entries(talk)) {
	describe(`installed beside an extension that ${does}`, () => {
		const options: HostOptions = {
			...{ model, before: others, extension: false, discovers: true, settings: { packages }, fresh: true },
			env: { ...ALONE, PI_MAX_TURNS: "3", CHILD_AT: at },
		};

		for (const mode of ["print", "json"] as const) {
			test(`a script that a limit stops exits with 53 and says why (${mode})`, async (t) => {
				const pi = await host(t, options);
				const { stderr, code } = await pi[mode]("go");
				assert.match(stderr, /^pi-turn-limit: stopped at the limit of 3 turns /m);
				assert.deepEqual([requests(pi), code], [3, 53]);
			});
		}

		test("the person is asked over rpc", async (t) => {
			const pi = await host(t, options);
			const rpc = await pi.rpc({ answer: "no" });
			await rpc.run("go");
			assert.deepEqual([requests(pi), rpc.questions.length], [3, 1]);
		});

		if (isToldByBuiltIn) return;

		test("a script exits with 53 also where pi's built-in extensions are switched off", async (t) => {
			const extensions = ["-builtin:llama.cpp", "-builtin:mcp"];
			const pi = await host(t, { ...options, settings: { packages, extensions } });
			const { code } = await pi.print("go");
			assert.deepEqual([requests(pi), code], [3, 53]);
		});
	});
}

test("a session from a machine whose clock is ahead is no subagent's, also without pi's built-in extensions", async (t) => {
	const extensions = ["-builtin:llama.cpp", "-builtin:mcp"];
	const header = { type: "session", version: 3, id: "ahead", timestamp: new Date(Date.now() + 600_000), cwd: "/" };
	const pi = await host(t, {
		...{ model: endless(), extension: false, discovers: true, fresh: true, settings: { packages: [root], extensions } },
		...{ session: true, files: { "ahead.jsonl": `${JSON.stringify(header)}\n` } },
		env: { PI_TURN_LIMIT_GRACE: "0", PI_MAX_TURNS: "3" },
	});
	const { code } = await pi.print("--session", "ahead.jsonl", "go");
	assert.deepEqual([pi.model.requests.length, code], [3, 53]);
});

test("`pi -p --resume` is no subagent, though the list of sessions has made pi's theme first", async (t) => {
	const pi = await host(t, { model: endless(), session: true, fresh: true, env: { PI_TURN_LIMIT_GRACE: "0" } });
	await pi.print("the first prompt");
	const before = pi.model.requests.length;
	Object.assign(pi.env, { PI_MAX_TURNS: "3" });
	const { cwd, env } = pi;
	const tui = new Terminal(t, { cwd, env, file: node, args: [cli, ...pi.args, "-p", "--resume", "go on"] }, {});
	await tui.shows("the first prompt");
	tui.press("enter");
	assert.equal(await tui.exit(), 53);
	assert.equal(pi.model.requests.length - before, 3);
});
