/** The process is pi's own and the session is the person's, whatever other extensions do before ours is loaded. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import {
	bash,
	calls,
	cli,
	endless,
	type Extra,
	type Host,
	host,
	mark,
	node,
	type Reply,
	type Request,
	root,
	text,
} from "../harness/index.ts";
import { Terminal } from "../harness/terminal.ts";

const OTHERS: Readonly<Record<string, Extra>> = {
	"sets the title of the process": () => {
		process.title = "pi: myproject";
	},
	"makes pi's theme": join(import.meta.dirname, "theme-maker.ts"),
	"runs an agent of its own while pi loads extensions": join(import.meta.dirname, "first-child.ts"),
};

const isOfChild = (request: Request): boolean => request.texts("user")[0] === "child";

/** The other extension's agent answers at once; everybody else works without end. */
const model = (request: Request): Reply => (isOfChild(request) ? text("Remembered.") : mark());

const requests = ({ model }: Host): number => model.turns.filter((request) => !isOfChild(request)).length;

/** Ours is installed, so that the agents of others load it too. */
function beside(t: TestContext, other: Extra, env: Record<string, string>): Promise<Host> {
	return host(t, {
		model,
		before: [other],
		settings: { packages: [root] },
		fresh: true,
		env: { PI_TURN_LIMIT_GRACE: "0", CHILD_AT: "load", ...env },
	});
}

for (const [does, other] of Object.entries(OTHERS)) {
	describe(`beside an extension that ${does}`, () => {
		for (const mode of ["print", "json"] as const) {
			test(`a script (${mode}) that a limit stops exits with 53 and says why`, async (t) => {
				const pi = await beside(t, other, { PI_MAX_TURNS: "3" });
				const { stderr, code } = await pi[mode]("go");
				assert.equal(requests(pi), 3);
				assert.match(stderr, /^pi-turn-limit: stopped at the limit of 3 turns /m);
				assert.equal(code, 53);
			});
		}

		test("the person is asked over rpc, also after a new session", async (t) => {
			const pi = await beside(t, other, { PI_MAX_TURNS: "3" });
			const rpc = await pi.rpc({ answer: "no" });
			await rpc.run("go");
			await rpc.newSession();
			await rpc.run("go");
			assert.deepEqual([requests(pi), rpc.questions.length], [6, 2]);
		});

		test("a script and an agent that its bash starts share a tree", async (t) => {
			const starts = calls(bash(`"${node}" "${cli}" --offline --no-session -p look < /dev/null`));
			const works = (request: Request, n: number): Reply =>
				request.texts("user")[0] === "go" && n === 1 ? starts : model(request);
			const pi = await host(t, {
				model: (request, n) => (isOfChild(request) ? text("Remembered.") : works(request, n)),
				before: [other],
				settings: { packages: [root] },
				fresh: true,
				env: { PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_TREE_TURNS: "4", CHILD_AT: "never" },
			});
			const { code } = await pi.print("go");
			assert.deepEqual([requests(pi), code], [4, 53]);
		});
	});
}

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
