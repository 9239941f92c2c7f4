/** `npm run pictures`: makes docs/*.svg from the real thing: a real pi in a terminal, with a scripted model. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import xterm from "@xterm/headless";
import { bash, calls, endless, held, host, type Host, type Reply, type Request, text } from "../test/harness/index.ts";
import { personsSessions } from "../test/history/person.ts";
import { svg } from "./svg.ts";

const COLS = 96;
const COLOURS = { COLORTERM: "truecolor" };
const docs = join(import.meta.dirname, "../docs");
const undos: (() => unknown)[] = [];
const scope = { after: (undo: () => unknown): unknown => undos.unshift(undo) };
const work: Reply = {
	...text("The suite still fails. I look at the next test."),
	...calls(bash("echo 2 of 5 tests fail")),
};

function save(name: string, picture: string): void {
	mkdirSync(docs, { recursive: true });
	writeFileSync(join(docs, `${name}.svg`), picture);
	console.log(`docs/${name}.svg`);
}

/** A terminal in which somebody has prompted. */
async function prompted(pi: Host) {
	const terminal = await pi.terminal({ cols: COLS, rows: 30 });
	terminal.type("Make the tests pass.\r");
	return terminal;
}

async function widget(): Promise<void> {
	const slow = held(work);
	const pi = await host(scope, {
		model: (_request, n) => (n === 3 ? slow : work),
		env: { ...COLOURS, PI_MAX_TURNS: "25", PI_TURN_LIMIT_TOOLS: "200" },
	});
	const terminal = await prompted(pi);
	await terminal.shows("Turns: 3/25");
	save("widget", svg(terminal.buffer, "The widget counts turns and tool calls while pi works", 12, COLS, pi.cwd));
	slow.release();
}

async function question(): Promise<void> {
	const pi = await host(scope, { model: endless(work), env: { ...COLOURS, PI_MAX_TURNS: "5" } });
	const terminal = await prompted(pi);
	await terminal.shows("→ Continue");
	save("question", svg(terminal.buffer, "At the limit pi asks whether to continue", 26, COLS, pi.cwd));
}

/** The screens after the other answers. */
async function answers(): Promise<void> {
	const model = (request: Request): Reply => {
		if (request.last.startsWith("Skip")) return text("I leave the parser alone and go on with the lexer.");
		return request.count("is spent") > 0 ? text("3 of 5 tests pass. Two in parser.test.ts remain.") : work;
	};
	const pi = await host(scope, { model, env: { ...COLOURS, PI_MAX_TURNS: "5" } });
	const terminal = await prompted(pi);
	await terminal.shows("→ Continue");
	terminal.press("down");
	terminal.press("enter");
	await terminal.shows("What should it know?");
	terminal.type("Skip the parser, it is being rewritten.");
	await terminal.shows("rewritten.");
	save("tell", svg(terminal.buffer, "A yes can tell the model something", 22, COLS, pi.cwd));
	terminal.press("enter");
	await terminal.shows("go on with the lexer");
	await terminal.lacks("Working");
	terminal.type("Go on.\r");
	await terminal.shows("→ Continue");
	terminal.press("down");
	terminal.press("down");
	await terminal.shows("→ Wrap up now");
	terminal.press("enter");
	await terminal.shows("the model gave its final answer");
	await terminal.lacks("Working");
	save("wrapped-up", svg(terminal.buffer, "Wrap up now brings one last answer", 30, COLS, pi.cwd));
}

async function dayAfter(): Promise<void> {
	const pi = await host(scope, { model: endless(work), env: { ...COLOURS, PI_MAX_TURNS: "5" }, session: true });
	const evening = await prompted(pi);
	await evening.shows("→ Continue");
	evening.type("n");
	await evening.shows("Send a message to go on.");
	await evening.lacks("Working");
	evening.press("ctrl+d");
	await evening.exit();
	const morning = await pi.terminal({ cols: COLS, rows: 30, args: ["-c"] });
	await morning.shows("Send a message to go on.");
	save(
		"day-after",
		svg(morning.buffer, "pi -c, the day after: the transcript says how the run ended", 14, COLS, pi.cwd),
	);
}

async function wrapUp(): Promise<void> {
	const pi = await host(scope, {
		model: (request) =>
			request.count("left in this run") > 0
				? text("Accomplished: 3 of 5 tests pass.\n\nRemaining: two tests in parser.test.ts.")
				: work,
		env: { ...COLOURS, PI_MAX_TURNS: "4", PI_TURN_LIMIT_GRACE: "2" },
	});
	const terminal = await prompted(pi);
	await terminal.shows("Remaining: two tests");
	save("wrap-up", svg(terminal.buffer, "The model is told to wrap up, and does", 22, COLS, pi.cwd));
}

async function status(): Promise<void> {
	const pi = await host(scope, {
		env: { ...COLOURS, PI_MAX_TURNS: "60", PI_TURN_LIMIT_REPEATS: "" },
		agentFiles: { "turn-limit.json": { policy: "synthesize" } },
	});
	const terminal = await pi.terminal({ cols: COLS, rows: 30 });
	terminal.type("/turn-limit tools 200\r");
	await terminal.shows("Tool limit set to 200.");
	terminal.type("/turn-limit\r");
	await terminal.shows(/may repeat +none +default/);
	save(
		"status",
		svg(
			terminal.buffer,
			"/turn-limit shows where every meter stands and where each setting comes from",
			24,
			COLS,
			pi.cwd,
		),
	);
}

async function advice(): Promise<void> {
	const pi = await host(scope, { agentFiles: personsSessions(Date.UTC(2026, 0, 31)), env: COLOURS });
	const terminal = await pi.terminal({ cols: 80, rows: 80 });
	terminal.type("/turn-limit advise\r");
	await terminal.shows(/\/turn-limit save\n\n─+\n\n─+\n.*\n.*scripted/);
	const picture = svg(terminal.buffer, "/turn-limit advise says which limit fits", 62, 80, pi.cwd);
	const directory = `${join(pi.agentDir, "sessions")}.`;
	save("advice", picture.replace(directory, "~/.pi/agent/sessions.".padEnd(directory.length)));
}

async function headless(): Promise<void> {
	const pi = await host(scope, {
		model: endless(work),
		env: { ...COLOURS, PI_MAX_TURNS: "5", PI_TURN_LIMIT_GRACE: "0" },
	});
	const { stderr, code } = await pi.print("Make the tests pass.");
	const emulator = new xterm.Terminal({ cols: 104, rows: 8, allowProposedApi: true });
	const lines = ['$ PI_MAX_TURNS=5 pi -p "Make the tests pass."', stderr.trimEnd(), "$ echo $?", String(code)];
	await new Promise<void>((written) => emulator.write(lines.join("\r\n"), written));
	save("headless", svg(emulator.buffer.active, "Without a person the run is stopped, and a script can tell", 8, 104));
}

try {
	for (const picture of [widget, question, answers, dayAfter, wrapUp, status, advice, headless]) await picture();
} finally {
	for (const undo of undos) await undo();
}
process.exit(0);
