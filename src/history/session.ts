/** Reads the runs of one session file from its entries. */
import { isObject } from "../core/is-object.ts";
import { createHash } from "node:crypto";
import { METER_IDS, scopeOf } from "../core/meters.ts";
import { isEndAtLimit, LOST_TURN, OUTCOME_ENTRY, OUTCOME_KINDS, OUTCOMES, PREFIX } from "../core/outcome.ts";
import { DOLLARS } from "../core/unit.ts";
import { dollarsIn, tokensIn } from "../core/usage.ts";
import { list, number, parse, span, spent, textOf, timeOf, type Json } from "./json.ts";
import { HISTORY_METERS, type OutcomeRecord, type PastRun, type PastStep } from "./run.ts";

/** As long as its session is being read. */
type Growing<T> = { -readonly [K in keyof T]: T[K] };

type GrowingRun = Growing<Omit<PastRun, "steps" | "outcomes">> & {
	readonly steps: Growing<PastStep>[];
	readonly outcomes: OutcomeRecord[];
};

/** The state of the conversation after an entry. */
interface Point {
	readonly run: GrowingRun | undefined;
	/** The time at which the last message was stored: a person's, an answer, a tool result. */
	readonly end: number;
	readonly afterTool: boolean;
}

const START: Point = { run: undefined, end: -Infinity, afterTool: false };

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
export class PastSession {
	#header: Header | undefined;
	#broken = 0;
	#hasCopies = false;
	readonly #runs: GrowingRun[] = [];
	readonly #points = new Map<unknown, Point>();
	/** Runs whose last answer broke off, or was cut off: pi may make its request again. */
	readonly #failed = new Set<GrowingRun>();
	/** Runs whose last message is an answer that asks for nothing more. */
	readonly #answered = new Set<GrowingRun>();
	/** Runs whose last turn was aborted before any text: a request that was sent, or one that a limit refused. */
	readonly #aborted = new Set<GrowingRun>();
	/** Not a session: its first entry is not a header. */
	#foreign = false;
	#last = START;
	#leaf: unknown = null;
	#showsPerson = false;
	#showsScript = false;

	get header(): Header | undefined {
		return this.#header;
	}

	/** Lines that are not JSON objects. */
	get broken(): number {
		return this.#broken;
	}

	/** It holds entries that are older than itself: a fork's, copied from its parent. */
	get hasCopies(): boolean {
		return this.#hasCopies;
	}

	/** The run that the last entry belongs to. */
	get last(): PastRun | undefined {
		return this.#last.run;
	}

	/** The runs, when all lines are in. A run that says nothing about a person is taken to be like the rest of its session. */
	runs(): readonly PastRun[] {
		const attended = this.#showsPerson ? true : this.#showsScript ? false : undefined;
		for (const run of this.#runs) run.attended ??= attended;
		return this.#runs;
	}

	add(line: string): void {
		const text = line.trim(); // takes away the byte order mark that some editors write, too
		if (text === "" || this.#foreign) return;
		const entry = parse(text);
		if (!entry) this.#broken++;
		else if (!this.#header) this.#open(entry);
		else if (entry["type"] !== "session") this.#place(entry);
	}

	#open({ type, id, cwd, timestamp, parentSession }: Json): void {
		if (type !== "session" || typeof id !== "string") this.#foreign = true;
		else
			this.#header = {
				id,
				cwd: typeof cwd === "string" ? cwd : "",
				at: timeOf(timestamp),
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
		if (stored > -Infinity && this.#header && stored < this.#header.at) this.#hasCopies = true;
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
	 * result before it proves nothing, because a pi that was killed leaves one, too; without a time, or where the clock
	 * was set back, it has to do.
	 */
	#user(point: Point, message: Json, stored: number): Point {
		const sent = number(message["timestamp"]);
		const isSetBack = stored > -Infinity && stored < point.end;
		const queued = sent === undefined || isSetBack ? point.afterTool : sent < point.end;
		if (queued && point.run?.prompted) this.#showsPerson = true;
		const run = queued && point.run?.prompted ? point.run : this.#start(sent ?? stored, textOf(message["content"]));
		return this.#heard({ run, end: isSetBack ? stored : Math.max(point.end, stored), afterTool: false });
	}

	#answer(point: Point, message: Json, stored: number): Point {
		const { stopReason } = message;
		const content = list(message["content"]);
		const cutShort = stopReason === "error" || stopReason === "aborted";
		const run = point.run ?? this.#start(stored, undefined);
		this.#aborted.delete(run);
		const isMadeUp = isOurs(message["rawStopReason"]);
		// An empty message is a request that was aborted, one that failed, or one that pi never made after an abort.
		const wasSent = stopReason === "aborted" && !isOurs(message["errorMessage"]);
		if (!isMadeUp && (!cutShort || content.length > 0 || wasSent)) {
			const isRetry = this.#failed.delete(run);
			if (!isRetry) run.steps.push(step(1));
			if (stopReason === "error" || stopReason === "length") this.#failed.add(run);
			if (content.length === 0 && wasSent && !isRetry) this.#aborted.add(run);
		}
		run.finished = !isMadeUp && !cutShort && stopReason !== "toolUse";
		if (run.finished) this.#answered.add(run);
		else this.#answered.delete(run);
		run.open = stopReason === "toolUse";
		run.refused = false;
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
		const next = this.#charge(this.#heard({ ...point, end, afterTool: true }), message, stored, {
			toolCalls,
			time: span(point.end, stored),
		});
		if (next.run) next.run.reported += costOf(message);
		return next;
	}

	/** Something new entered the conversation: the next request repeats none. */
	#heard(point: Point): Point {
		if (point.run) this.#failed.delete(point.run);
		return point;
	}

	#custom(point: Point, { customType, data }: Json): Point {
		if (customType === LOST_TURN) return this.#lost(point);
		if (customType !== OUTCOME_ENTRY || !isObject(data)) return point;
		// Anybody can write into a session: other kinds are not ours, and would reach the terminal.
		const kind = OUTCOME_KINDS.find((known) => known === data["kind"]);
		if (kind === undefined) return point;
		const continuations = Math.floor(spent(data["continuations"]));
		const attended = typeof data["attended"] === "boolean" ? data["attended"] : undefined;
		const { run } = point;
		if (attended === true || continuations > 0 || OUTCOMES[kind].endedBy === "question") this.#showsPerson = true;
		if (attended === false) this.#showsScript = true;
		if (!run) return point;
		run.attended = attended ?? run.attended;
		run.open = false;
		// A run that a limit ended did not finish by itself, even if its last message is an answer.
		const isStopped = isEndAtLimit(kind);
		if (isStopped) {
			run.refused = !this.#answered.has(run);
			run.finished = false;
		}
		// In the terminal pi gives the refused message the words of an abort.
		if (isStopped && this.#aborted.delete(run)) withdrawTurn(run);
		const finalPass = attended === true && OUTCOMES[kind].hasFinalPass && wasAsked(data);
		run.outcomes.push({ kind, continuations, answered: data["answered"] !== false, finalPass });
		return point;
	}

	/** A request whose answer was lost, because the session ended before it. */
	#lost(point: Point): Point {
		const { run } = point;
		if (!run) return point;
		run.steps.push(step(1));
		[run.open, run.finished, run.refused] = [false, false, false];
		return point;
	}

	#charge(point: Point, entry: Json, stored: number, others: Partial<PastStep> = {}): Point {
		const run = point.run ?? this.#start(stored, undefined);
		const cost = costOf(entry);
		const tokens = spent(tokensIn(isObject(entry["usage"]) ? entry["usage"] : {}));
		const last = run.steps.at(-1) ?? step(0);
		const all = { ...step(0), ...others, cost, tokens };
		for (const meter of HISTORY_METERS) last[meter] += all[meter];
		return { ...point, run };
	}

	#start(at: number, text: string | undefined): GrowingRun {
		const key = createHash("sha1")
			.update(`${at} ${text ?? ""}`)
			.digest("base64");
		const prompted = text !== undefined;
		const run: GrowingRun = {
			key,
			at,
			prompted,
			steps: [step(0)],
			outcomes: [],
			entries: 0,
			until: at,
			finished: false,
			open: false,
			reported: 0,
			refused: false,
			attended: undefined,
		};
		this.#runs.push(run);
		return run;
	}
}

/** As the core counts it. */
function costOf({ usage }: Json): number {
	return isObject(usage) ? (DOLLARS.read(spent(dollarsIn(usage))) ?? 0) : 0;
}

/** True if the breaker gave this reason: the gate refused the turn, so no request was made. */
function isOurs(reason: unknown): boolean {
	return typeof reason === "string" && reason.startsWith(PREFIX);
}

/** False where nobody could grant more, and for a run that was refused before its first turn. */
function wasAsked({ meter, turns }: Json): boolean {
	const id = METER_IDS.find((known) => known === meter);
	return id !== undefined && scopeOf(id).grantedBy !== "operator" && spent(turns) > 0;
}

/** The last turn was none; its amounts belong to the one before. */
function withdrawTurn({ steps }: GrowingRun): void {
	const [into, last] = [steps.at(-2), steps.at(-1)];
	if (!into || !last) return;
	for (const meter of HISTORY_METERS) if (meter !== "turns") into[meter] += last[meter];
	steps.pop();
}

function step(turns: 0 | 1): Growing<PastStep> {
	return { turns, toolCalls: 0, cost: 0, tokens: 0, time: 0 };
}
