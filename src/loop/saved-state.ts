/** A breaker's counts as data, to go on in another process or with another version. The limits are those of whoever goes on. */
import { isObject } from "../core/is-object.ts";
import { METER_IDS, type MeterId, type PerMeter, perMeter, perRunMeter } from "../core/meters.ts";
import type { Spent, Trip, Verdict } from "../core/outcome.ts";
import { type Active, IDLE, type Phase, type Run, type State } from "../core/state.ts";
import { NO_STREAK, type Streak } from "../core/streak.ts";
import type { TurnState } from "../core/turn.ts";
import { isCount } from "../core/unit.ts";

export interface SavedState {
	readonly phase: Phase;
	readonly used: Partial<PerMeter<number>>;
	readonly extra: Partial<PerMeter<number>>;
	readonly advice: State["advice"];
	readonly streak: Streak;
}

export function saved({ phase, meters, advice, streak }: State): SavedState {
	const used = perMeter((id) => meters[id].used);
	const extra = perMeter((id) => meters[id].extra);
	return { phase, used, extra, advice, streak };
}

/** @throws for anything but what `saved` has given. */
export function readSaved(value: unknown): SavedState {
	const { phase, used, extra, advice, streak } = objectIn(value);
	return {
		phase: phaseIn(phase),
		used: countsIn(used, isCount),
		extra: countsIn(extra, Number.isSafeInteger),
		advice: adviceIn(advice),
		streak: streakIn(streak),
	};
}

/** A breaker with these counts and the limits of `fresh`; a meter that was not saved has the count of `fresh`. */
export function restore(fresh: State, { phase, used, extra, advice, streak }: SavedState): State {
	const meters = perMeter((id) => {
		const meter = fresh.meters[id];
		return { ...meter, used: used[id] ?? meter.used, extra: extra[id] ?? meter.extra };
	});
	return { ...fresh, meters, advice, streak, phase };
}

/** The state that an instance of another version has left, as far as this one understands it; else `fresh`. */
export function adopt(fresh: State, left: unknown): State {
	try {
		const { meters, ...rest } = objectIn(left);
		const counts = Object.entries(objectIn(meters)).map(([id, meter]) => [id, objectIn(meter)] as const);
		const each = (key: string): object => Object.fromEntries(counts.map(([id, meter]) => [id, meter[key]]));
		return restore(fresh, readSaved({ ...rest, used: each("used"), extra: each("extra") }));
	} catch {
		return fresh;
	}
}

// The parts; each throws for a value that it cannot read.

class NotSaved extends Error {}

/** The value, if `is` accepts it, as the type that the caller needs. */
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

type Saved = Readonly<Record<string, unknown>>;

/** By kind: the verdict, as far as it says more than that. */
const VERDICTS: { readonly [K in Verdict["kind"]]: (saved: Saved) => Extract<Verdict, { readonly kind: K }> } = {
	interrupted: () => ({ kind: "interrupted" }),
	failed: ({ by, message }) => ({
		kind: "failed",
		by: by === "breaker" ? by : "provider",
		message: String(message),
	}),
	declined: (saved) => ({ kind: "declined", answered: saved["answered"] === true, ...tripIn(saved) }),
	synthesized: (saved) => ({ kind: "synthesized", ...tripIn(saved) }),
	exhausted: (saved) => ({ kind: "exhausted", ...tripIn(saved) }),
};

function verdictIn(saved: Saved): Verdict {
	const { kind } = saved;
	return VERDICTS[must<Verdict["kind"]>(kind, () => Object.hasOwn(VERDICTS, String(kind)))](saved);
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
		endsAsking: false,
		refusals: 0,
		isHeld: false,
		isWaived: false,
	};
}

function turnIn(turn: unknown): TurnState {
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
