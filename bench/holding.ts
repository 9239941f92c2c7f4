/** Does the limit hold, is the answer kept, does somebody learn why? Counted where every request arrives. */
import { fileURLToPath } from "node:url";
import {
	bash,
	calls,
	fail,
	host,
	type HostOptions,
	mark,
	type Reply,
	type Request,
	text,
} from "../test/harness/index.ts";
import type { Scope } from "../test/harness/wait.ts";
import { FINAL_TURNS } from "../src/core/gate.ts";
import type { Part } from "./aims.ts";
import { table } from "./figures.ts";

interface Scenario {
	readonly name: string;
	/** The limit, and of what. */
	readonly limit: number;
	readonly of?: "tool calls";
	/** The turn after which it is reached, if that is another number. */
	readonly gate?: number;
	readonly env?: Record<string, string>;
	readonly options?: Pick<HostOptions, "modelFields" | "settings">;
	readonly mode?: "json";
	/** Does the model give an answer, if it is allowed all its turns? */
	readonly answers?: true;
	readonly model: (n: number, request: Request) => Reply;
}

/** A model that nobody stops is stopped by its script. */
const END = 40;

const answer = text("The answer.");

/** A reply which reports so many tokens that a compaction is due. */
const full: Reply = { ...mark(), usage: { prompt: 9_000 } };

const three = calls(...["a", "b", "c"].map((label) => bash(`echo ${label} >> marks`)));

const synthesize = { PI_TURN_LIMIT_POLICY: "synthesize" };

const scenarios: readonly Scenario[] = [
	{ name: "endless loop", limit: 5, model: () => mark() },
	{ name: "flapping provider: every 4th request fails", limit: 5, model: (n) => (n % 4 === 0 ? fail(529) : mark()) },
	{ name: "finish at the cap", limit: 5, answers: true, model: (n) => (n < 5 ? mark() : answer) },
	{ name: "cap 1", limit: 1, answers: true, model: () => answer },
	{ name: "json exit", limit: 5, mode: "json", model: () => mark() },
	{
		name: "batch of calls: 3 per turn",
		...{ limit: 7, of: "tool calls", gate: 3, env: { PI_MAX_TURNS: "25", PI_TURN_LIMIT_TOOLS: "7" } },
		model: () => three,
	},
	{
		name: "final pass, obedient",
		...{ limit: 5, env: synthesize, answers: true },
		model: (_n, r) => (told(r) ? answer : mark()),
	},
	{ name: "final pass, stubborn", limit: 5, env: synthesize, model: () => mark() },
	{
		name: "compaction due at the limit",
		limit: 5,
		options: {
			modelFields: { contextWindow: 10_000 },
			settings: { compaction: { reserveTokens: 2_000, keepRecentTokens: 1 } },
		},
		model: (n) => (n < 4 ? mark() : full),
	},
];

/** Our instruction for the final pass. */
function told(request: Request): boolean {
	return request.count("Answer now") > 0;
}

const textbook = fileURLToPath(import.meta.resolve("./textbook.ts"));

const subjects: Record<string, HostOptions> = {
	"no extension": { extension: false },
	textbook: { extension: false, before: [textbook] },
	"pi-turn-limit": {},
};

export async function holding(t: Scope): Promise<Part> {
	const rows: string[][] = [];
	/** Of ours, beyond what the policy allows. */
	let escaped = 0;
	for (const scenario of scenarios) {
		for (const [subject, options] of Object.entries(subjects)) {
			const { cells, after } = await row(t, scenario, subject, options);
			rows.push(cells);
			if (subject === "pi-turn-limit") escaped += Math.max(0, after - (scenario.env === synthesize ? FINAL_TURNS : 0));
		}
	}
	const head = ["scenario", "subject", "allowed", "spent", "requests after the gate", "answer kept", "reason told"];
	const aim = {
		...{ aim: "No request after the gate, but for the final pass", measured: `${escaped} requests` },
		...{ isMet: escaped === 0, otherwise: "see Holding below" },
	};
	const text = `## Holding

A real pi, a scripted model that sees every request. Without a limit the script ends the run after ${END} requests.
*Requests after the gate*: turns, summaries and cache warming that left after the allowed turns were spent, or after the
last turn if the subject stopped earlier; the policy of the final pass allows ${FINAL_TURNS}. *Answer kept*: where the model answers
within its limit, or when told to. *Reason told*: where the run was stopped, does stderr name the limit?

${table([...head, "exit code"], rows)}`;
	return { text, aims: [aim] };
}

async function row(
	t: Scope,
	scenario: Scenario,
	subject: string,
	options: HostOptions,
): Promise<{ cells: string[]; after: number }> {
	const { name, limit, of, gate = limit, env, model, mode, answers } = scenario;
	const completed: Request[] = [];
	let last: Reply = {};
	const script = (request: Request, n: number): Reply => {
		const reply = n > END ? text("Ended by the script.") : model(n, request);
		if (!reply.failure) {
			completed.push(request);
			last = reply;
		}
		return reply;
	};
	const limits = { PI_MAX_TURNS: String(limit), PI_TURN_LIMIT_GRACE: "0", ...env };
	const pi = await host(t, { ...options, ...scenario.options, model: script, env: limits });
	const { stdout, stderr, code } = await (mode === "json" ? pi.json("go") : pi.print("go"));
	const { requests } = pi.model;
	const lastAllowed = completed[Math.min(gate, completed.length) - 1];
	const after = requests.length - (lastAllowed ? requests.indexOf(lastAllowed) + 1 : 0);
	const limited = last.calls !== undefined || stderr !== "";
	const cells = [
		...[name, subject, `${limit} ${of ?? (limit === 1 ? "turn" : "turns")}`],
		String(of ? pi.marks().length : completed.length),
		String(after),
		answers ? yes(stdout.includes(answer.text ?? "")) : "–",
		limited ? yes(/limit of/.test(stderr)) : "–",
		String(code),
	];
	return { cells, after };
}

function yes(fact: boolean): string {
	return fact ? "yes" : "no";
}
