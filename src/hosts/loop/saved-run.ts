/** A run as text, to go on in another process. The limits are those of whoever resumes it; only counts are kept. */
import { METER_IDS, type MeterId, type PerMeter, perMeter, perRunMeter } from "../../core/meters.ts";
import type { Spent, Trip, Verdict } from "../../core/outcome.ts";
import { type Active, IDLE, type Phase, type Run, type State } from "../../core/state.ts";
import { NO_STREAK, type Streak } from "../../core/streak.ts";
import type { Turn } from "../../core/turn.ts";
import { isCount } from "../../core/unit.ts";
import { isObject } from "../../settings/places.ts";

const VERSION = 1;

/** Counts of a run, and the texts that are still to reach its model. */
export interface SavedRun {
	/** Names the run in every process. */
	readonly id: string;
	readonly phase: Phase;
	readonly used: Partial<PerMeter<number>>;
	readonly extra: Partial<PerMeter<number>>;
	readonly advice: State["advice"];
	readonly streak: Streak;
	/** For the next request. */
	readonly notes: readonly string[];
	/** The answers to calls of the turn under way, by id; null admits. */
	readonly answers: Readonly<Record<string, string | null>>;
	/** As `tree-variable.ts` writes it. */
	readonly tree: string;
}

export function writeRun(state: State, rest: Pick<SavedRun, "id" | "notes" | "answers" | "tree">): string {
	const { phase, meters, advice, streak } = state;
	const used = perMeter((id) => meters[id].used);
	const extra = perMeter((id) => meters[id].extra);
	return JSON.stringify({ version: VERSION, ...rest, phase, used, extra, advice, streak });
}

/** Undefined for anything but what `writeRun` has written. */
export function readRun(text: unknown): SavedRun | undefined {
	try {
		const saved: unknown = JSON.parse(String(text));
		if (!isObject(saved) || saved["version"] !== VERSION) return undefined;
		const { id, notes, answers, tree } = saved;
		const isText = (value: unknown): value is string => typeof value === "string";
		if (!isText(id) || id === "" || !isText(tree)) return undefined;
		if (!Array.isArray(notes) || !notes.every(isText) || !isObject(answers)) return undefined;
		if (!Object.values(answers).every((answer) => answer === null || isText(answer))) return undefined;
		return {
			...{ id, notes, tree, answers: answers as SavedRun["answers"] },
			phase: phaseIn(saved["phase"]),
			used: countsIn(saved["used"], isCount),
			extra: countsIn(saved["extra"], Number.isSafeInteger),
			advice: adviceIn(saved["advice"]),
			streak: streakIn(saved["streak"]),
		};
	} catch {
		return undefined;
	}
}

/** The breaker of a saved run, with the limits of `fresh`. */
export function restore(fresh: State, { phase, used, extra, advice, streak }: SavedRun): State {
	const meters = perMeter((id) => ({ ...fresh.meters[id], used: used[id] ?? 0, extra: extra[id] ?? 0 }));
	return { ...fresh, meters, advice, streak, phase };
}

// The parts of a saved run; each throws if it is none.

class NotSaved extends Error {}

/** A value that is what `is` says, by the type that its caller needs. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- it stands for a cast at each caller
function must<T>(value: unknown, is: (value: unknown) => boolean): T {
	if (!is(value)) throw new NotSaved();
	return value as T;
}

function isMeter(value: unknown): boolean {
	return METER_IDS.includes(value as MeterId);
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
	return must(value, isObject);
}

function countsIn(value: unknown, is: (value: unknown) => boolean): Partial<PerMeter<number>> {
	const counts = Object.entries(objectIn(value)).filter(([id]) => isMeter(id));
	return Object.fromEntries(counts.map(([id, count]) => [id, must<number>(count, is)]));
}

/** A question is asked again: the run goes on to the gate at which it was asked. */
function phaseIn(value: unknown): Phase {
	const phase = objectIn(value);
	switch (phase["name"]) {
		case "idle":
			return IDLE;
		case "running":
		case "asking":
			return { name: "running", run: runIn(phase["run"]) };
		case "finishing": {
			const { turns, concluded } = phase;
			const run = runIn(phase["run"]);
			return {
				name: "finishing",
				run,
				trip: tripIn(phase["trip"]),
				turns: must(turns, isCount),
				concluded: concluded === true,
			};
		}
		default:
			return stoppedIn(phase);
	}
}

function stoppedIn({ name, run, verdict }: Readonly<Record<string, unknown>>): Active {
	must(name, () => name === "stopped");
	return { name: "stopped", run: runIn(run), verdict: verdictIn(objectIn(verdict)) };
}

function verdictIn(verdict: Readonly<Record<string, unknown>>): Verdict {
	const { kind, by, message } = verdict;
	switch (kind) {
		case "interrupted":
			return { kind };
		case "failed":
			return { kind, by: by === "breaker" ? by : "provider", message: String(message) };
		case "declined":
			return { kind, answered: verdict["answered"] === true, ...tripIn(verdict) };
		case "synthesized":
			return { kind, ...tripIn(verdict) };
		default:
			return { kind: must<"exhausted">(kind, () => kind === "exhausted"), ...tripIn(verdict) };
	}
}

function tripIn(value: unknown): Trip {
	const { meter, limit } = objectIn(value);
	return { meter: must(meter, isMeter), limit: must(limit, (max) => max === "unlimited" || isCount(max)) };
}

function runIn(value: unknown): Run {
	const { spent, turn, passes, advised } = objectIn(value);
	const counts = objectIn(spent);
	return {
		spent: {
			...perRunMeter((id) => must<number>(counts[id], isCount)),
			continuations: must(counts["continuations"], isCount),
		} satisfies Spent,
		turn: turnIn(turn),
		passes: must(passes, (ids) => Array.isArray(ids) && ids.every(isMeter)),
		...(advised === undefined ? {} : { advised: must<MeterId>(advised, isMeter) }),
		...{ endsAsking: false, refusals: 0, isHeld: false, isWaived: false },
	};
}

function turnIn(turn: unknown): Turn {
	if (turn === "ended" || turn === "open") return turn;
	const { failed, since } = objectIn(turn);
	return {
		failed: String(failed),
		since: must(since, () => since === "nothing" || since === "retry" || since === "message"),
	};
}

function adviceIn(advice: unknown): State["advice"] {
	if (advice === "armed" || advice === "requested") return advice;
	return { given: must(objectIn(advice)["given"], isMeter) };
}

function streakIn(value: unknown): Streak {
	const { recent, same, warned } = objectIn(value);
	const isTexts = (list: unknown): boolean => Array.isArray(list) && list.every((each) => typeof each === "string");
	const isCounts = (list: unknown): boolean =>
		Array.isArray(list) && list.length === NO_STREAK.same.length && list.every(isCount);
	return {
		recent: must(recent, isTexts),
		same: must(same, isCounts),
		warned: must(warned, () => warned === "no" || warned === "just_now" || warned === "earlier"),
	};
}
