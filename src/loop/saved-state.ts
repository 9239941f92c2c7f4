/** A breaker's counts as data, to go on in another process, or after pi has reloaded its extensions. */
import { isObject } from "../core/is-object.ts";
import type { Meter } from "../core/limit.ts";
import { METER_IDS, type MeterId, type PerMeter, perMeter, perRunMeter } from "../core/meters.ts";
import { isPolicy } from "../core/policies.ts";
import type { Spent, Trip, Verdict } from "../core/outcome.ts";
import { IDLE, type Phase, type Run, type State } from "../core/state.ts";
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

/** The state that an earlier instance has left, perhaps of another version; a meter that it does not know is that of `fresh`, and so is a state that cannot be read. */
export function adopt(fresh: State, left: unknown): State {
	try {
		const { meters, phase, advice, streak } = objectIn(left);
		const known = objectIn(meters);
		return {
			...fresh,
			meters: perMeter((id) => (id in known ? meterIn(known[id]) : fresh.meters[id])),
			phase: phaseIn(phase, true),
			advice: adviceIn(advice),
			streak: streakIn(streak),
		};
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

function meterIn(value: unknown): Meter {
	const { limit, used, extra } = objectIn(value);
	const { max, policy } = objectIn(limit);
	return {
		limit: { max: must(max, isMax), policy: must(policy, isPolicy) },
		used: must(used, isCount),
		extra: must(extra, Number.isSafeInteger),
	};
}

function isMax(value: unknown): boolean {
	return value === "unlimited" || isCount(value);
}

/** A question is asked again: the run goes on to the gate at which it was asked. `isHere`: it goes on in the same process. */
function phaseIn(value: unknown, isHere = false): Phase {
	const phase = objectIn(value);
	const run = (): Run => runIn(phase["run"], isHere);
	switch (phase["name"]) {
		case "idle":
			return isHere ? idleIn(phase) : IDLE;
		case "running":
		case "asking":
			return { name: "running", run: run() };
		case "finishing": {
			const { turns, concluded } = phase;
			return {
				name: "finishing",
				run: run(),
				trip: tripIn(phase["trip"]),
				turns: must(turns, isCount),
				concluded: concluded === true,
			};
		}
		default:
			must(phase["name"], (name) => name === "stopped");
			return { name: "stopped", run: run(), verdict: verdictIn(objectIn(phase["verdict"])) };
	}
}

function idleIn({ prompted, promised, refusedSinceStop }: Saved): Phase {
	const counts = countsIn(promised ?? {}, isCount);
	return {
		name: "idle",
		prompted: prompted === true,
		promised: perMeter((id) => counts[id] ?? 0),
		refusedSinceStop: isCount(refusedSinceStop) ? refusedSinceStop : undefined,
	};
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
	return { meter: must(meter, isMeter), limit: must(limit, isMax) };
}

/** Room that is held is reserved again. */
function runIn(value: unknown, isHere: boolean): Run {
	const { spent, turn, passes, advised, ...run } = objectIn(value);
	const { refusedSinceStop, endsAsking, refusals, isWaived } = isHere ? run : {};
	const counts = objectIn(spent);
	return {
		spent: {
			...perRunMeter((id) => must<number>(counts[id], isCount)),
			continuations: must(counts["continuations"], isCount),
		} satisfies Spent,
		turn: turnIn(turn),
		passes: must(passes, (ids) => Array.isArray(ids) && ids.every(isMeter)),
		...(advised === undefined ? {} : { advised: must<MeterId>(advised, isMeter) }),
		...(isCount(refusedSinceStop) ? { refusedSinceStop } : {}),
		endsAsking: endsAsking === true,
		refusals: isCount(refusals) ? refusals : 0,
		isHeld: false,
		isWaived: isWaived === true,
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
