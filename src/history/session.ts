/** Reads the runs of one session file from its entries. */
import { createHash } from "node:crypto";
import { METER_IDS, scopeOf } from "../core/meters.ts";
import { type OutcomeKind, PREFIX } from "../core/outcome.ts";
import { DOLLARS } from "../core/unit.ts";
import { isObject, list, number, parse, span, spent, textOf, timeOf, type Json } from "./json.ts";
import { METERS, type Run, type Step } from "./run.ts";

/** The state of the conversation after an entry. */
interface Point {
	readonly run: Run | undefined;
	/** The time at which the last message was stored: a person's, an answer, a tool result. */
	readonly end: number;
	readonly afterTool: boolean;
}

const START: Point = { run: undefined, end: -Infinity, afterTool: false };

const OUTCOME_ENTRY = "turn-limit-outcome";

/**
 * By kind of outcome: true if a limit ended the run, so that it did not finish by itself, even if its last message is an
 * answer. Anybody can write into a session: other kinds are not ours, and would reach the terminal.
 */
const STOPPED: Readonly<Record<OutcomeKind, boolean>> = {
	completed: false,
	wrapped_up: false,
	synthesized: true,
	declined: true,
	exhausted: true,
	interrupted: false,
	failed: false,
};

const KINDS = Object.keys(STOPPED) as readonly OutcomeKind[];

/** Kinds of outcome that a final pass can have. */
const AFTER_FINAL_PASS: readonly OutcomeKind[] = ["synthesized", "exhausted", "failed"];

/** The first line of a session file. */
export interface Header {
	readonly id: string;
	readonly cwd: string;
	/** When the session was created. */
	readonly at: number;
	/** The file of the session that it was made from: a fork's, or that of whoever started a subagent. */
	readonly parent: string | undefined;
}

/** Folds the lines of one session file, version 1 to 3, into its runs. */
export class Session {
	header: Header | undefined;
	/** Lines that are no JSON object. */
	broken = 0;
	/** It holds entries that are older than itself: a fork's, copied from its parent. */
	hasCopies = false;
	readonly #runs: Run[] = [];
	readonly #points = new Map<unknown, Point>();
	/** Runs of which a turn's request broke off and is made again. */
	readonly #failed = new Set<Run>();
	/** Runs whose last turn was aborted before any text: a request that was sent, or one that a limit refused. */
	readonly #aborted = new Set<Run>();
	/** Not a session: its first entry is not a header. */
	#foreign = false;
	#last = START;
	#leaf: unknown = null;
	#showsPerson = false;
	#showsScript = false;

	/** The run that the last entry belongs to. */
	get last(): Run | undefined {
		return this.#last.run;
	}

	/** The runs, when all lines are in. A run that says nothing about a person is taken to be like the rest of its session. */
	runs(): readonly Run[] {
		const attended = this.#showsPerson ? true : this.#showsScript ? false : undefined;
		for (const run of this.#runs) run.attended ??= attended;
		return this.#runs;
	}

	add(line: string): void {
		const text = line.trim(); // takes away the byte order mark that some editors write, too
		if (text === "" || this.#foreign) return;
		const entry = parse(text);
		if (!entry) this.broken++;
		else if (!this.header) this.#open(entry);
		else if (entry["type"] !== "session") this.#place(entry);
	}

	#open({ type, id, cwd, timestamp, parentSession }: Json): void {
		if (type !== "session" || typeof id !== "string") this.#foreign = true;
		else
			this.header = {
				...{ id, cwd: typeof cwd === "string" ? cwd : "", at: timeOf(timestamp) },
				parent: typeof parentSession === "string" ? parentSession : undefined,
			};
	}

	/** Version 1 has no ids, and a broken line can have held the parent: then an entry follows the one before it. */
	#place(entry: Json): void {
		const { id, parentId } = entry;
		const known = parentId === null ? START : this.#points.get(parentId);
		if (known && parentId !== this.#leaf) this.#showsPerson = true; // a script cannot go back in the tree
		this.#last = this.#step(known ?? this.#last, entry);
		this.#leaf = id;
		this.#points.set(id, this.#last);
		if (this.#last.run) this.#last.run.entries++;
	}

	#step(point: Point, entry: Json): Point {
		const stored = timeOf(entry["timestamp"]);
		if (stored > -Infinity && this.header && stored < this.header.at) this.hasCopies = true;
		switch (entry["type"]) {
			case "message":
				return isObject(entry["message"]) ? this.#message(point, entry["message"], stored) : point;
			case "compaction":
			case "branch_summary":
			case "usage":
				return this.#charge(point, entry, stored);
			case "custom_message":
				return this.#heard(point);
			case "custom":
				return this.#custom(point, entry);
			default:
				return point;
		}
	}

	#message(point: Point, message: Json, stored: number): Point {
		switch (message["role"]) {
			case "user":
				return this.#user(point, message, stored);
			case "assistant":
				return this.#answer(point, message, stored);
			case "toolResult":
				return this.#result(point, message, stored);
			case "bashExecution": // a person's `!command`
				this.#showsPerson = true;
				return this.#heard(point);
			case "custom":
			case "hookMessage":
				return this.#heard(point);
			default:
				return point;
		}
	}

	/**
	 * A message that was sent before the last one was stored is steering or was queued, and belongs to the run. A tool
	 * result before it proves nothing, because a pi that was killed leaves one, too; without a time it has to do.
	 */
	#user(point: Point, message: Json, stored: number): Point {
		const sent = number(message["timestamp"]);
		const queued = sent === undefined ? point.afterTool : sent < point.end;
		if (queued && point.run?.prompted) this.#showsPerson = true;
		const run = queued && point.run?.prompted ? point.run : this.#start(sent ?? stored, textOf(message["content"]));
		return this.#heard({ run, end: Math.max(point.end, stored), afterTool: false });
	}

	#answer(point: Point, message: Json, stored: number): Point {
		const { stopReason } = message;
		const content = list(message["content"]);
		const cutShort = stopReason === "error" || stopReason === "aborted";
		const run = point.run ?? this.#start(stored, undefined);
		this.#aborted.delete(run);
		// An empty message is a request that was aborted, one that failed, or one that pi never made after an abort.
		const wasSent = stopReason === "aborted" && !isRefusal(message);
		if (!cutShort || content.length > 0 || wasSent) {
			const isRetry = this.#failed.delete(run);
			if (!isRetry) run.steps.push(step(1));
			if (stopReason === "error") this.#failed.add(run);
			if (content.length === 0 && wasSent && !isRetry) this.#aborted.add(run);
		}
		run.finished = !cutShort && stopReason !== "toolUse";
		run.open = stopReason === "toolUse";
		run.until = Math.max(run.until, stored);
		const toolCalls = cutShort ? 0 : content.filter((part) => isObject(part) && part["type"] === "toolCall").length;
		const time = span(number(message["timestamp"]) ?? point.end, stored);
		const end = Math.max(point.end, stored);
		return this.#charge({ run, end, afterTool: false }, message, stored, { toolCalls, time });
	}

	#result(point: Point, message: Json, stored: number): Point {
		const nested = message["nestedCalls"];
		const toolCalls = isObject(nested) ? list(nested["calls"]).length : 0;
		const end = Math.max(point.end, stored);
		if (point.run) [point.run.open, point.run.until] = [true, Math.max(point.run.until, stored)];
		return this.#charge({ ...point, end, afterTool: true }, message, stored, {
			toolCalls,
			time: span(point.end, stored),
		});
	}

	/** Something new entered the conversation: the next request repeats none. */
	#heard(point: Point): Point {
		if (point.run) this.#failed.delete(point.run);
		return point;
	}

	#custom(point: Point, { customType, data }: Json): Point {
		if (customType !== OUTCOME_ENTRY || !isObject(data)) return point;
		const kind = KINDS.find((known) => known === data["kind"]);
		if (kind === undefined) return point;
		const continuations = Math.floor(spent(data["continuations"]));
		const attended = typeof data["attended"] === "boolean" ? data["attended"] : undefined;
		const { run } = point;
		if (attended === true || continuations > 0 || kind === "declined") this.#showsPerson = true;
		if (attended === false) this.#showsScript = true;
		if (!run) return point;
		run.attended = attended ?? run.attended;
		run.open = false;
		if (STOPPED[kind]) run.finished = false;
		// In the terminal pi gives the refused message the words of an abort.
		if (STOPPED[kind] && this.#aborted.delete(run)) withdrawTurn(run);
		const finalPass = attended === true && AFTER_FINAL_PASS.includes(kind) && wasAsked(data);
		run.outcomes.push({ kind, continuations, answered: data["answered"] !== false, finalPass });
		return point;
	}

	#charge(point: Point, { usage }: Json, stored: number, others: Partial<Step> = {}): Point {
		const run = point.run ?? this.#start(stored, undefined);
		const used = isObject(usage) ? usage : {};
		const cost = isObject(used["cost"]) ? (DOLLARS.read(spent(used["cost"]["total"])) ?? 0) : 0;
		const tokens = ["input", "output", "cacheWrite"].reduce((sum, name) => sum + spent(used[name]), 0);
		const last = run.steps.at(-1) ?? step(0);
		const all = { ...step(0), ...others, cost, tokens };
		for (const meter of METERS) last[meter] += all[meter];
		return { ...point, run };
	}

	#start(at: number, text: string | undefined): Run {
		const key = createHash("sha1")
			.update(`${at} ${text ?? ""}`)
			.digest("base64");
		const prompted = text !== undefined;
		const run: Run = {
			...{ key, at, prompted, steps: [step(0)], outcomes: [] },
			...{ entries: 0, until: at, finished: false, open: false, attended: undefined },
		};
		this.#runs.push(run);
		return run;
	}
}

/** True if the message carries our reason: the gate refused the turn, so no request was made. */
function isRefusal({ errorMessage }: Json): boolean {
	return typeof errorMessage === "string" && errorMessage.startsWith(PREFIX);
}

/** False where nobody could grant more, and for a run that was refused before its first turn. */
function wasAsked({ meter, turns }: Json): boolean {
	const id = METER_IDS.find((known) => known === meter);
	return id !== undefined && scopeOf(id).grantedBy !== "operator" && spent(turns) > 0;
}

/** The last turn was none; its amounts belong to the one before. */
function withdrawTurn({ steps }: Run): void {
	const [into, last] = [steps.at(-2), steps.at(-1)];
	if (!into || !last) return;
	for (const meter of METERS) if (meter !== "turns") into[meter] += last[meter];
	steps.pop();
}

function step(turns: 0 | 1): Step {
	return { turns, toolCalls: 0, cost: 0, tokens: 0, time: 0 };
}
