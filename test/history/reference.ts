/**
 * What `advise` has to find, worked out the slow way: pi's own functions read the whole file, every question about an
 * entry is answered by walking up to the root.
 */
import type { FileEntry } from "@earendil-works/pi-coding-agent";
import type { Limits, HistoryMeter } from "../../src/history/index.ts";
import { migrateSessionEntries, parseSessionEntries } from "../harness/pi.ts";

interface Part {
	type: string;
	text?: string;
}

interface Message {
	role: string;
	content: Part[];
	timestamp: number;
	stopReason?: string;
	usage?: Usage;
	nestedCalls?: { calls: unknown[] };
}

interface Usage {
	input: number;
	output: number;
	cacheWrite: number;
	cost: { total: number };
}

/** An entry as pi gives it, of any type. */
interface Entry {
	type: string;
	id: string;
	parentId: string | null;
	timestamp: string;
	message?: Message;
	usage?: Usage;
	customType?: string;
	data?: { kind: string; continuations: number; answered?: boolean; attended?: boolean };
}

interface Prompt {
	name: string;
	entries: Entry[];
	attended: boolean | undefined;
	/** By turn, the first being what came before it. */
	steps: Record<HistoryMeter, number>[];
	finished: boolean;
	/** A limit ended it before another request, and no answer came. */
	refused: boolean;
}

/** Kinds of runs that a limit ended, whatever their last message is. */
const STOPPED = ["synthesized", "declined", "exhausted"];

/** The prompts of one file. */
function promptsOf(text: string): Prompt[] {
	const parsed = parseSessionEntries(text);
	if (parsed[0]?.type !== "session") return [];
	migrateSessionEntries(parsed);
	const entries = (parsed as (FileEntry & { type: string })[]).filter(
		({ type }) => type !== "session",
	) as unknown as Entry[];
	const parentOf = (entry: Entry): Entry | undefined => {
		const i = entries.indexOf(entry);
		if (entry.parentId === null) return undefined;
		return entries.slice(0, i).find(({ id }) => id === entry.parentId) ?? entries[i - 1];
	};
	const above = (entry: Entry): Entry[] => {
		const parent = parentOf(entry);
		return parent ? [parent, ...above(parent)] : [];
	};
	const ends = (entry: Entry): number[] =>
		above(entry)
			.filter(({ message }) => ["user", "assistant", "toolResult"].includes(message?.role ?? ""))
			.map(({ timestamp }) => Date.parse(timestamp));
	const prompts: Entry[] = [];
	for (const entry of entries.filter(({ message }) => message?.role === "user")) {
		const sent = entry.message?.timestamp ?? NaN;
		const first = !above(entry).some((one) => prompts.includes(one));
		if (first || ends(entry).every((end) => end <= sent)) prompts.push(entry);
	}
	const owner = (entry: Entry): Entry | undefined => [entry, ...above(entry)].find((one) => prompts.includes(one));
	const stepsOf = (own: Entry[]): Prompt["steps"] => {
		const steps: Prompt["steps"] = [{ turns: 0, toolCalls: 0, cost: 0, tokens: 0, time: 0 }];
		let retry = false;
		let emptied = false;
		for (const entry of own) {
			const { message } = entry;
			const stored = Date.parse(entry.timestamp);
			const failed = message?.stopReason === "error" || message?.stopReason === "aborted";
			const empty = message?.role === "assistant" && message.content.length === 0;
			if (message?.role === "assistant") emptied = false;
			if (message?.role === "assistant" && !(message.stopReason === "error" && empty)) {
				emptied = empty && message.stopReason === "aborted" && !retry;
				if (!retry) steps.push({ turns: 1, toolCalls: 0, cost: 0, tokens: 0, time: 0 });
				retry = ["error", "length"].includes(message.stopReason ?? "");
			}
			if (emptied && STOPPED.includes(entry.data?.kind ?? "")) {
				const [none] = steps.splice(-1);
				for (const meter of ["toolCalls", "cost", "tokens", "time"] as const) steps.at(-1)![meter] += none![meter];
				emptied = false;
			}
			if (
				entry.type === "custom_message" ||
				["user", "custom", "bashExecution", "toolResult"].includes(message?.role ?? "")
			)
				retry = false;
			const step = steps.at(-1)!;
			const usage = message?.usage ?? entry.usage;
			step.cost += usage?.cost.total ?? 0;
			step.tokens += usage ? usage.input + usage.output + usage.cacheWrite : 0;
			step.toolCalls += message?.nestedCalls?.calls.length ?? 0;
			if (message?.role === "assistant") {
				if (!failed) step.toolCalls += message.content.filter(({ type }) => type === "toolCall").length;
				step.time += stored - message.timestamp;
			}
			if (message?.role === "toolResult") step.time += stored - Math.max(...ends(entry));
		}
		return steps;
	};
	const declared = (some: Entry[]): boolean | undefined =>
		some.filter(({ data }) => data?.attended !== undefined).at(-1)?.data?.attended;
	const isScript = entries.some(({ data }) => data?.attended === false);
	const isPerson = entries.some(
		(entry, i) =>
			(entry.message?.role === "user" && !prompts.includes(entry)) ||
			entry.message?.role === "bashExecution" ||
			(i > 0 && parentOf(entry) !== entries[i - 1]) ||
			(entry.data?.continuations ?? 0) > 0 ||
			entry.data?.kind === "declined" ||
			entry.data?.attended === true,
	);
	return prompts.map((prompt) => {
		const own = entries.filter((entry) => owner(entry) === prompt);
		const ends = own.filter(({ message, data }) => message?.role === "assistant" || STOPPED.includes(data?.kind ?? ""));
		const last = ends.at(-1)?.message?.stopReason;
		return {
			name: `${prompt.message?.timestamp} ${prompt.message?.content.map(({ text }) => text).join()}`,
			entries: own,
			attended: declared(own) ?? (isPerson ? true : isScript ? false : undefined),
			steps: stepsOf(own),
			finished: isAnswer(last),
			refused:
				ends.at(-1)?.data !== undefined && !isAnswer(ends.findLast(({ message }) => message)?.message?.stopReason),
		};
	});
}

const isAnswer = (stopReason: string | undefined): boolean => stopReason === "stop" || stopReason === "length";

/** Rounded as in what is compared. */
const round = (value: number): number => Math.round(value * 1e6) / 1e6;

const sum = (steps: Prompt["steps"], meter: HistoryMeter): number =>
	round(steps.reduce((all, step) => all + step[meter], 0) / (meter === "time" ? 1000 : 1));

/** The figures that both sides can give, from the texts of all files in the order of their names. */
export function reference(texts: readonly string[], limits: Limits): object {
	const prompts = everyPrompt(texts);
	const answered = prompts.filter(({ steps }) => steps.length > 1);
	return figures(prompts, answered, limits);
}

/** The prompts that a limit would have asked about, as a row of the table of odds says it. */
export function odds(texts: readonly string[], meter: HistoryMeter, at: number): object {
	const prompts = everyPrompt(texts).filter(({ steps }) => steps.length > 1);
	const came = held(prompts, meter, at);
	const finished = came.filter((one) => one.finished);
	const priced = finished.filter(({ steps }) => sum(steps, "cost") > 0);
	const half = (values: number[]): number =>
		values.sort((a, b) => a - b).find((value) => 2 * values.filter((v) => v <= value).length >= values.length) ?? 0;
	const cost = half(priced.map(({ beyond }) => sum(beyond, "cost")));
	return {
		...{ at, came: came.length, finished: finished.length },
		moreTurns: half(finished.map(({ beyond }) => sum(beyond, "turns"))),
		moreCost: priced.length > 0 && priced.length >= finished.length / 2 ? Number(cost.toPrecision(3)) : null,
	};
}

interface Held {
	finished: boolean;
	steps: Prompt["steps"];
	beyond: Prompt["steps"];
}

function held(prompts: readonly Prompt[], meter: HistoryMeter, limit: number): Held[] {
	return prompts
		.filter(({ steps }) => meter !== "cost" || sum(steps, "cost") > 0)
		.flatMap(({ steps, finished, refused }) => {
			for (let turn = 1; turn < steps.length + (refused ? 1 : 0); turn++) {
				const used = sum(steps.slice(0, turn), meter);
				const then = sum(steps.slice(0, turn + 1), meter);
				if (meter === "toolCalls" && then > limit) return [{ finished, steps, beyond: steps.slice(turn + 1) }];
				if (meter !== "toolCalls" && used >= limit) return [{ finished, steps, beyond: steps.slice(turn) }];
			}
			return [];
		});
}

function everyPrompt(texts: readonly string[]): Prompt[] {
	const found = texts.flatMap(promptsOf);
	const names = [...new Set(found.map(({ name }) => name))];
	return names.map((name) => {
		const copies = found.filter((prompt) => prompt.name === name);
		const most = Math.max(...copies.map(({ entries }) => entries.length));
		return copies.find(({ entries }) => entries.length === most)!;
	});
}

function figures(all: readonly Prompt[], prompts: readonly Prompt[], limits: Limits): object {
	const values = (meter: HistoryMeter): number[] => prompts.map(({ steps }) => sum(steps, meter)).sort((a, b) => a - b);
	const outcomes = all.flatMap(({ entries }) =>
		entries.filter(({ customType }) => customType === "turn-limit-outcome"),
	);
	return {
		prompts: prompts.length,
		priced: values("cost").filter((cost) => cost > 0).length,
		values: Object.fromEntries(
			(["turns", "toolCalls", "cost", "tokens", "time"] as const).map((meter) => [meter, values(meter)]),
		),
		attended: prompts.filter(({ attended }) => attended === true).length,
		headless: prompts.filter(({ attended }) => attended === false).length,
		yes: outcomes.reduce((all, { data }) => all + (data?.continuations ?? 0), 0),
		outcomes: outcomes.length,
		asked: Object.entries(limits).map(([meter, limit]) => {
			const stops = held(prompts, meter as HistoryMeter, limit);
			const beyond = round(stops.reduce((all, { beyond }) => all + sum(beyond, "cost"), 0));
			return { meter, limit, asked: stops.length, finished: stops.filter(({ finished }) => finished).length, beyond };
		}),
	};
}
