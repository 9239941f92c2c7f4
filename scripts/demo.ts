/**
 * `npm start`: the product at work on a real pi, with a scripted model on loopback; no key, no network.
 * In a terminal it is pi itself, and a line below the editor says what to press. Without one it tells a story and ends.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { HostOptions } from "../test/harness/host.ts";
import { bash, calls, endless, mark, type Reply, type Request, text, times } from "../test/harness/model.ts";
import { bringHost, newest } from "./hosts.js";

process.env["PI_TEST_HOST"] ||= await bringHost(newest);
const { host } = await import("../test/harness/host.ts"); // reads PI_TEST_HOST when it is loaded
const { cli, node, root } = await import("../test/harness/process.ts");

const PROMPT = "Tidy up the tests.";
const TASK = "Look at the parser.";

let undo = (): unknown => undefined;
let ending: Promise<void> | undefined;
const scope = { after: (all: () => unknown): unknown => (undo = all) };

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void end(130));
process.stdout.on("error", () => void end(0)); // EPIPE: `head` has read enough

/** Once, whoever comes first: the end of the story, or a signal in the middle of it. */
function end(code: number): Promise<void> {
	return (ending ??= Promise.resolve(undo()).finally(() => process.exit(code)) as Promise<void>);
}

/** The options of an agent that can start another by `sh subagent`, which loads the extension because it is installed. */
const family: HostOptions = {
	fresh: true,
	settings: { packages: [root] },
	files: {
		...{ "README.md": "", "lexer.js": "", "package.json": "{}", "parser.js": "" },
		subagent: `PI_MAX_TURNS=50 exec "${node}" "${cli}" --offline --no-session -p "$1" < /dev/null 2>&1\n`,
	},
};
const startSubagent = calls(bash(`sh subagent "${TASK}"`));

function isSubagent(request: Request): boolean {
	return request.texts("user")[0] === TASK;
}

/** The subagent works for ever, and does not repeat itself. */
function subagent(request: Request): Reply {
	return mark(`file${request.body.messages.length}`);
}

/** A response for 30 cents at the sandbox's prices. */
const DEAR = { usage: { prompt: 10_000, completion: 2_000 } };

const EXIT_CODES: Readonly<Record<string, string>> = {
	53: "a limit stopped the run",
	54: "the run ended after the wrap-up, so its answer may be partial",
};

interface Step extends HostOptions {
	title: string;
	env: Record<string, string>;
}

/** Sends what pi is given, and prints what came back. */
async function tell({ title, ...options }: Step): Promise<void> {
	const pi = await host(scope, options);
	const variables = Object.entries(options.env).map(([name, value]) => `${name}=${value}`);
	const { stdout, stderr, code } = await pi.print(PROMPT);
	await ending;
	console.log(`\n${title}\n`);
	console.log(`  $ ${variables.join(" ")} pi -p "${PROMPT}"`);
	for (const line of stdout.trimEnd().split("\n").filter(Boolean)) console.log(`  stdout     ${line}`);
	for (const line of stderr.trimEnd().split("\n").filter(Boolean)) console.log(`  stderr     ${line}`);
	const { requests } = pi.model;
	const others = requests.filter(isSubagent).length;
	const shared = others > 0 ? `, ${others} of them from the subagent` : "";
	console.log(`  requests   ${requests.length} reached the model${shared}; ${pi.marks().length} tool calls ran`);
	const [, told] = requests.at(-1)?.texts("user") ?? [];
	if (told !== undefined) console.log(`  to model   ${told.split("\n")[0]}`);
	console.log(`  exit code  ${code}: ${EXIT_CODES[String(code)]}`);
}

async function askOverRpc(title: string): Promise<void> {
	const pi = await host(scope, { model: endless(), env: { PI_MAX_TURNS: "3" } });
	const rpc = await pi.rpc({ answer: (_question, n) => n === 1 });
	await rpc.prompt(PROMPT);
	await rpc.settled();
	await ending;
	console.log(`\n${title}\n`);
	rpc.questions.forEach(({ title, message = "" }, i) => {
		console.log(`  question   ${title}: ${message.replaceAll("\n", "\n             ")}`);
		console.log(`  answer     ${i === 0 ? "yes" : "no"}`);
	});
	for (const { message } of rpc.notifications) console.log(`  notice     ${message}`);
	console.log(`  requests   ${pi.model.requests.length} reached the model`);
	await rpc.close();
}

async function headless(): Promise<void> {
	console.log("pi-turn-limit on a real pi, with a scripted model that would work for ever.");
	await tell({
		title: "1. A limit of 3 turns, and a model that does not stop by itself: it is stopped.",
		model: endless(),
		env: { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0" },
	});
	await tell({
		title: "2. The wrap-up: two turns before the limit the model is told to finish, and it does.",
		model: (request) => (request.count("left in this run") > 0 ? text("Done: 3 files. Left: 2 files.") : mark()),
		env: { PI_MAX_TURNS: "5" },
	});
	await tell({
		title: "3. The policy synthesize: at the limit the model gives one last answer, without tools.",
		model: [...times(3), text("From what I have seen: 3 files need work.")],
		env: { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_POLICY: "synthesize" },
	});
	await tell({
		title: "4. A limit of 50 cents. A response costs 30, and it is known only afterwards.",
		model: endless({ ...mark(), ...DEAR }),
		env: { PI_TURN_LIMIT_COST: "0.50", PI_TURN_LIMIT_GRACE: "0" },
	});
	await tell({
		title: "5. The same call again and again: the fourth is refused, the fifth ends the run.",
		model: endless(),
		env: { PI_TURN_LIMIT_REPEATS: "3" },
	});
	await tell({
		...family,
		title: "6. A subagent spends from the budget of the agent that started it.",
		model: (request) => (isSubagent(request) ? subagent(request) : startSubagent),
		env: { PI_TURN_LIMIT_TREE_TURNS: "5", PI_TURN_LIMIT_GRACE: "0" },
	});
	await askOverRpc("7. With somebody to ask, here a client over rpc that says yes once and then no.");
	console.log("\nIn a terminal, npm start lets you answer the question yourself.");
}

function look(n: number): Reply {
	return calls(bash(`ls | head -${n}`));
}

/** What the person can see: the model's reply to the nth turn since they typed its name. */
const CHAPTERS: Readonly<Record<string, (n: number) => Reply>> = {
	turns: (n) => {
		if (n > 5) return text("This time I stop by myself, within the limit, so nobody is asked.");
		const words = n > 3 ? "I go on: a new round, counted from 1." : "I would work for ever. Watch the turns count up.";
		return { ...text(words), ...look(n) };
	},
	cost: (n) => {
		if (n > 2) return text("Now the dollars are counted from 0 again. I stop by myself.");
		return { ...text("Each of my responses costs 30 cents. The limit is 50."), ...look(n), ...DEAR };
	},
	repeats: (n) => {
		if (n > 2) return text("Now the calls are counted anew. I stop by myself.");
		return { ...text("I make the same call twice in each turn. Three in a row are allowed."), ...mark("same", "same") };
	},
	subagents: (n) => {
		if (n > 1) return text("I had one more turn, to tell you this.");
		return { ...text("I start a subagent. We share 6 turns: watch Tree turns."), ...startSubagent };
	},
};

function chapterOf(words = "") {
	return CHAPTERS[words.trim().toLowerCase()];
}

/**
 * What the model says to the person who watches. Other words than a chapter's name begin the first one, or go on with the
 * one that was cut short, which ends with a tool's result.
 */
function narrate(request: Request): Reply {
	if (request.last.includes("is spent")) return text("My last answer, without tools: you chose to wrap up.");
	const said = request.body.messages.map(({ role }, i) => ({ role, words: request.texts()[i] ?? "" }));
	const isCutShort = (i: number) => said.slice(0, i).findLast(({ role }) => role !== "user")?.role === "tool";
	const prompt = said.findLastIndex(({ role, words }, i) => role === "user" && (chapterOf(words) || !isCutShort(i)));
	const chapter = chapterOf(said[prompt]?.words) ?? CHAPTERS["turns"];
	const replies = said.slice(prompt).filter(({ role }) => role === "assistant").length;
	return chapter?.(replies + 1) ?? text("");
}

/** Says what to press. pi loads it from its source text, so it uses nothing from around it. */
function guide(pi: ExtensionAPI): void {
	const show = ({ ui }: ExtensionContext, ...lines: string[]): void => {
		const coloured = lines.map((line) => ui.theme.fg("accent", line));
		ui.setWidget("guide", coloured, { placement: "belowEditor" });
	};
	pi.on("agent_start", (_event, ctx) =>
		show(ctx, "When asked, wait a moment: then y goes on and n stops. Or use ↑↓ and Enter."),
	);
	pi.on("agent_settled", (_event, ctx) =>
		show(
			ctx,
			"Try next: type cost, repeats, subagents or turns, and press Enter.",
			"/turn-limit shows every limit. On an empty line Ctrl+D leaves.",
		),
	);
}

async function interactive(): Promise<void> {
	const model = async (request: Request): Promise<Reply> => {
		await pause(isSubagent(request) ? 500 : 1500);
		return isSubagent(request) ? subagent(request) : narrate(request);
	};
	const limits = { PI_MAX_TURNS: "3", PI_TURN_LIMIT_COST: "0.50", PI_TURN_LIMIT_REPEATS: "3" };
	const env = { ...limits, PI_TURN_LIMIT_TREE_TURNS: "6", TERM: process.env["TERM"] ?? "xterm-256color" };
	const pi = await host(scope, { ...family, model, env, after: [guide] });
	await pi.attached("turns");
}

try {
	await (process.stdin.isTTY && process.stdout.isTTY ? interactive() : headless());
	await end(0);
} catch (error) {
	console.error(error);
	await end(1);
}
