/**
 * `npm run pictures`: makes docs/*.svg from the real thing: a real pi in a terminal, with a scripted model.
 * `npm run pictures demo no` makes only those. With the question comes `.github/gallery.png`, the same for pi's gallery.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import xterm from "@xterm/headless";
import { held, host, type Host, type HostOptions, type Reply, type Request } from "../test/harness/index.ts";
import type { Terminal, TerminalOptions } from "../test/harness/index.ts";
import { personsSessions } from "../test/history/person.ts";
import { files, PROMPT, report, work } from "./flaky.ts";
import { png } from "./png.ts";
import { type Frame, lastRows, screen, svg } from "./svg.ts";

const SIZE = { cols: 80, rows: 24 };
const LIMIT = 4;
const COLOURS = { COLORTERM: "truecolor" };
const docs = join(import.meta.dirname, "../docs");
const undos: (() => unknown)[] = [];
const scope = { after: (undo: () => unknown): unknown => undos.unshift(undo) };

function save(name: string, picture: string): void {
	writeFileSync(join(docs, `${name}.svg`), picture);
	console.log(`docs/${name}.svg: ${Math.ceil(picture.length / 1000)} kB`);
}

/** A sandbox with the flaky test. Those of the model's turns that are in `holds` wait until they are released. */
async function task({ holds = [], ...options }: HostOptions & { holds?: readonly number[] } = {}) {
	const turns = work.map(held);
	turns.forEach((turn, i) => holds.includes(i + 1) || turn.release());
	const model = (request: Request, n: number): Reply => {
		const mustClose = ["is spent", "left in this run"].some((words) => request.count(words) > 0);
		return mustClose ? report : (turns[n - 1] ?? report);
	};
	const env = { ...COLOURS, PI_MAX_TURNS: String(LIMIT), ...options.env };
	const pi = await host(scope, { model, files, ...options, env });
	return { pi, release: (n: number) => turns[n - 1]?.release() };
}

async function open(pi: Host, options: TerminalOptions = {}): Promise<Terminal> {
	return pi.terminal({ ...SIZE, ...options });
}

/** A terminal in which somebody has prompted. */
async function prompted(pi: Host): Promise<Terminal> {
	const terminal = await open(pi);
	terminal.type(`${PROMPT}\r`);
	return terminal;
}

/** A terminal in which somebody is asked. */
async function asked(pi: Host): Promise<Terminal> {
	const terminal = await prompted(pi);
	await terminal.shows("→ Continue");
	return terminal;
}

/** Chooses the nth answer. */
async function choose(terminal: Terminal, n: number, label: string): Promise<void> {
	for (let i = 1; i < n; i++) terminal.press("down");
	await terminal.shows(`→ ${label}`);
	terminal.press("enter");
}

/** Waits until the screen is painted: pi sends it in parts, the footer at last. */
async function painted(terminal: Terminal): Promise<void> {
	await pause(50);
	await terminal.shows(/scripted$/);
}

/** `from`: how many of the last rows it shows, or the words that its first row has. */
async function still(name: string, title: string, terminal: Terminal, from: number | string, pi: Host): Promise<void> {
	await painted(terminal);
	const sessions = `${join(pi.agentDir, "sessions")}.`;
	const instead = { [pi.cwd]: "~/project", [sessions]: "~/.pi/agent/sessions." };
	save(name, svg(title, SIZE.cols, [lastRows(terminal.buffer, from, { cols: SIZE.cols, instead })]));
}

async function widget(): Promise<void> {
	const { pi } = await task({ holds: [3], env: { PI_MAX_TURNS: "25", PI_TURN_LIMIT_TOOLS: "200" } });
	const terminal = await prompted(pi);
	await terminal.shows("Turns: 3/25");
	await terminal.shows(work[2]?.text ?? "");
	await still("widget", "The widget counts turns and tool calls while pi works", terminal, 16, pi);
}

async function questionAndYes(): Promise<void> {
	const { pi } = await task({ holds: [LIMIT + 1] });
	const terminal = await asked(pi);
	await still("question", "At the limit pi asks whether to continue", terminal, `Turns: ${LIMIT}/${LIMIT}`, pi);
	const pixels = await png(readFileSync(join(docs, "question.svg"), "utf8"));
	writeFileSync(join(docs, "../.github/gallery.png"), pixels);
	console.log(`.github/gallery.png: ${Math.ceil(pixels.length / 1000)} kB`);
	terminal.press("enter");
	await terminal.shows(`Turns: 1/${LIMIT}`);
	await terminal.shows(work[LIMIT]?.text ?? "");
	await still("yes", "After a yes the run goes on, and the counter begins at 1", terminal, 16, pi);
}

async function no(): Promise<void> {
	const { pi } = await task();
	const terminal = await asked(pi);
	await choose(terminal, 4, "Stop");
	await terminal.shows("Send a message to go on.");
	await terminal.lacks("Working");
	await still("no", "After a no the run stops, and one line says why", terminal, 17, pi);
}

async function tell(): Promise<void> {
	const { pi } = await task();
	const terminal = await asked(pi);
	await choose(terminal, 2, "Continue, and tell it something…");
	await terminal.shows("What should it know?");
	terminal.type("Do not sleep. Wait until the queue is idle.");
	await terminal.shows("is idle.");
	await still("tell", "A yes can tell the model something", terminal, `Turns: ${LIMIT}/${LIMIT}`, pi);
}

async function wrappedUp(): Promise<void> {
	const { pi } = await task();
	const terminal = await asked(pi);
	await choose(terminal, 3, "Wrap up now");
	await terminal.shows("the model gave its final answer");
	await terminal.lacks("Working");
	await still("wrapped-up", "Wrap up now gets one last answer", terminal, 23, pi);
}

async function wrapUp(): Promise<void> {
	const { pi } = await task({ env: { PI_TURN_LIMIT_GRACE: "2" } });
	const terminal = await prompted(pi);
	await terminal.shows("Left: let the queue");
	await terminal.lacks("Working");
	await still("wrap-up", "The model is told to wrap up, and does", terminal, 25, pi);
}

async function status(): Promise<void> {
	const { pi } = await task({
		env: { PI_MAX_TURNS: "10", PI_TURN_LIMIT_REPEATS: "", PI_TURN_LIMIT_SESSION_COST: "0.20" },
		agentFiles: { "turn-limit.json": { policy: "synthesize" } },
	});
	const terminal = await open(pi);
	for (const [typed, reply] of [
		["tools 200", "Tool limit set to 200."],
		["session cost +0.05", "$0.05 more: $0.25 in this session."],
	] as const) {
		terminal.type(`/turn-limit ${typed}\r`);
		await terminal.shows(reply);
	}
	terminal.type(`${PROMPT}\r`);
	await terminal.shows("Left: let the queue");
	await terminal.lacks("Working");
	terminal.type("/turn-limit\r");
	await terminal.shows("Last run: ");
	terminal.press("up");
	await terminal.shows(/─+\n\/turn-limit\n─+\n.*\n.*scripted/);
	await still("status", "/turn-limit shows where every limit stands and where it comes from", terminal, 16, pi);
}

async function advice(): Promise<void> {
	const pi = await host(scope, { agentFiles: personsSessions(Date.UTC(2026, 0, 31)), env: COLOURS });
	const terminal = await open(pi, { rows: 80 });
	terminal.type("/turn-limit advise\r");
	await terminal.shows(/\/turn-limit save\n\n─+\n\n─+\n.*\n.*scripted/);
	await still("advice", "/turn-limit advise says which limit fits", terminal, 70, pi);
	await still("suggestion", "/turn-limit advise suggests limits for turns, cost and time", terminal, "Suggestion", pi);
}

async function headless(): Promise<void> {
	const { pi } = await task({ env: { PI_TURN_LIMIT_GRACE: "0" } });
	const { stderr, code } = await pi.print(PROMPT);
	const size = { cols: 104, rows: 8 };
	const emulator = new xterm.Terminal({ ...size, allowProposedApi: true });
	const lines = [`$ PI_MAX_TURNS=${LIMIT} pi -p "${PROMPT}"`, stderr.trimEnd(), "$ echo $?", String(code)];
	await new Promise<void>((written) => emulator.write(lines.join("\r\n"), written));
	const frame = lastRows(emulator.buffer.active, size.rows, size);
	save("headless", svg("Without a person the run is stopped, and a script can tell", size.cols, [frame]));
}

/** The film: counting, asked, yes, counting, asked, no. It begins with the question. */
async function demo(): Promise<void> {
	const { pi, release } = await task({ holds: work.map((_, i) => i + 1), env: { PI_MAX_TURNS: "" } });
	const terminal = await open(pi);
	const frames: Frame[] = [];
	const see = async (words: string, seconds: number): Promise<void> => {
		await terminal.shows(words);
		await painted(terminal);
		frames.push(screen(terminal.buffer, SIZE.rows, { ...SIZE, instead: { [pi.cwd]: "~/project" } }, seconds));
	};
	const works = async (from: number): Promise<void> => {
		for (let n = from; n < from + LIMIT; n++) {
			await terminal.shows(`Turns: ${n - from + 1}/${LIMIT}`);
			await see(work[n - 1]?.text ?? "", 1.4);
			release(n);
		}
		await see("One moment", 0.8);
	};
	terminal.type(`/turn-limit ${LIMIT}\r`);
	await terminal.shows(`Turn limit set to ${LIMIT}.`);
	terminal.type(`${PROMPT}\r`);
	await works(1);
	await see("→ Continue", 2.5);
	const question = frames.length - 1;
	terminal.press("enter");
	await works(1 + LIMIT);
	await see("→ Continue", 1.5);
	for (const label of ["Continue, and tell", "Wrap up now", "Stop"]) {
		terminal.press("down");
		await see(`→ ${label}`, label === "Stop" ? 1 : 0.4);
	}
	terminal.press("enter");
	await terminal.lacks("Working");
	await see("Send a message to go on.", 4);
	const title = "pi counts turns, asks at the limit, goes on after a yes and stops after a no";
	// Many places show a film's first frame alone.
	save("demo", svg(title, SIZE.cols, [...frames.slice(question), ...frames.slice(0, question)]));
}

const PICTURES: Readonly<Record<string, () => Promise<void>>> = {
	...{ demo, widget, question: questionAndYes, yes: questionAndYes, no, tell },
	...{ "wrapped-up": wrappedUp, "wrap-up": wrapUp, status, advice, suggestion: advice, headless },
};

function named(name: string): () => Promise<void> {
	const picture = PICTURES[name];
	if (!picture) throw new RangeError(`No such picture: ${name}. Known: ${Object.keys(PICTURES).join(", ")}`);
	return picture;
}

try {
	const wanted = process.argv.slice(2);
	for (const picture of new Set((wanted.length > 0 ? wanted : Object.keys(PICTURES)).map(named))) await picture();
} finally {
	for (const undo of undos) await undo();
}
process.exit(0);
