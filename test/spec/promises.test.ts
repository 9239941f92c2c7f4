/**
 * The promises of the spec's contract about sequences, one property each, by name. They are checked on the core alone,
 * by counting along: the test believes neither the core's counts nor the spec.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FINAL_TURNS } from "../../src/core/gate.ts";
import {
	type Call,
	concerns,
	isShared,
	kindOf,
	METER_IDS,
	type MeterId,
	OWN,
	perMeter,
	perRunMeter,
	RUN_METER_IDS,
	type RunMeterId,
	SHARED,
} from "../../src/core/meters.ts";
import type { Outcome, OutcomeKind, Spent } from "../../src/core/outcome.ts";
import type { Effect } from "../../src/core/protocol.ts";
import { isRetrying, isTurnOpen, type State } from "../../src/core/state.ts";
import { type FailedTurn, hasFailed } from "../../src/core/turn.ts";
import { check } from "./check.ts";
import { circles, streakOf } from "./circles.ts";
import { sequence, setup } from "./events.ts";
import { fresh, type Input, isRequest, type Moment, Sides, take } from "./sides.ts";

const sequences = sequence(60);

/** Holds for every sequence; some promises are about sequences without certain inputs. */
function promise(
	sentence: string,
	holds: (moments: readonly Moment[]) => void,
	without: readonly Input["type"][] = [],
): void {
	test(sentence, async () => {
		const property = fc.property(setup, sequences, ({ attended, isMember, events }, more) => {
			let state = fresh(attended, isMember);
			const inputs: readonly Input[] = [...events, ...more.filter(({ type }) => !without.includes(type))];
			const moments = inputs.map((input) => {
				const moment = take(state, input);
				state = moment.after;
				return moment;
			});
			holds(moments);
		});
		await check(property, 200, 50, 40);
	});
}

const CHANGES: readonly Input["type"][] = ["limit_set", "limit_raised"];

/** Meters that add up; of repetitions the present streak counts. */
const SUMS = METER_IDS.filter((id) => id !== "repeats");
const COUNTS = SUMS.filter((id) => kindOf(id).known === "before");
const [OVER_ROUND, OVER_SESSION, OVER_TREE, OVER_FLEET] = (["round", "session", "tree", "fleet"] as const).map(
	(scope) => METER_IDS.filter((id) => kindOf(id).scope === scope),
) as [MeterId[], MeterId[], MeterId[], MeterId[]];

function isOfRound(id: MeterId): boolean {
	return OVER_ROUND.includes(id);
}

function nothing(): { -readonly [K in keyof Spent]: Spent[K] } {
	return { ...perRunMeter(() => 0), continuations: 0 };
}

function bound({ meters }: State, id: MeterId): number {
	const { limit, extra } = meters[id];
	return limit.max === "unlimited" ? Infinity : limit.max + extra;
}

function isLimited({ meters }: State, id: MeterId): boolean {
	return meters[id].limit.max !== "unlimited";
}

/** Some shared limit is set. */
function isSharing(state: State): boolean {
	return SHARED.some((id) => isLimited(state, id));
}

/** What an input charges to the meters that measure it; nobody counts what is shared and unlimited. */
function chargeOf({ input, before }: Moment, id: MeterId): number {
	const amounts: Partial<Record<RunMeterId, number>> = input.type === "charged" ? input.amounts : {};
	return isShared(id) && !isLimited(before, id) ? 0 : (amounts[kindOf(id).of] ?? 0);
}

function spent({ phase }: State): Spent {
	return phase.name === "idle" ? nothing() : phase.run.spent;
}

function endOf({ effects }: Moment): Outcome | undefined {
	return effects.flatMap((effect) => (effect.type === "end" ? [effect.outcome] : []))[0];
}

function has({ effects }: Moment, type: Effect["type"]): boolean {
	return effects.some((effect) => effect.type === type);
}

/** A compaction that takes the advice away brings the same advice back. */
function isAdvice(moment: Moment): boolean {
	return has(moment, "advise") && moment.input.type !== "message_lost";
}

/** The meter that the gate acted on: it asked about it, stopped the run for it, or began a final pass. */
function gatedBy({ effects, before, after: { phase } }: Moment): MeterId | undefined {
	const question = effects.find((effect) => effect.type === "ask");
	if (question) return question.meter;
	if (before.phase.name === phase.name) return undefined;
	if (phase.name === "finishing") return phase.trip.meter;
	return phase.name === "stopped" && "meter" in phase.verdict ? phase.verdict.meter : undefined;
}

/** A yes to the question about a limit of a meter. */
function continues(moment: Moment, id: MeterId): boolean {
	const { phase } = moment.before;
	return isYes(moment) && phase.name === "asking" && phase.meter === id && phase.unreachable === undefined;
}

/** What a yes about the meter buys. */
function bought({ before, input }: Moment, id: MeterId): number {
	const max = Number(before.meters[id].limit.max);
	const usual = isOfRound(id) ? max : Math.max(1, Math.ceil(max / 10));
	return input.type === "answered" && id !== "repeats" ? (input.grant ?? usual) : usual;
}

/** A yes that grants more. */
function isContinued(moment: Moment): boolean {
	return METER_IDS.some((id) => continues(moment, id));
}

function isYes({ before, input }: Moment): boolean {
	return input.type === "answered" && input.answer === "yes" && before.phase.name === "asking";
}

/** A question, or an answer to one, whether the run goes on without the ledger. */
function isWithoutLedger({ before: { phase } }: Moment): boolean {
	return phase.name === "asking" && phase.unreachable !== undefined;
}

/** The ledger holds room for the next turn. */
function isHeld({ phase }: State): boolean {
	return phase.name !== "idle" && phase.run.isHeld;
}

/** The ledger's word on a meter, if it counts here. */
function toldOf({ before, input }: Moment, id: MeterId): { readonly used: number } | undefined {
	if (!("balances" in input) || !isLimited(before, id)) return undefined;
	const isRunning = before.phase.name === "running";
	if (input.type === "held" && !isRunning) return undefined;
	if (input.type === "filled" && !(isRunning && !isHeld(before) && isLimited(before, input.meter))) return undefined;
	return input.balances[id];
}

function startsRun({ before, after }: Moment): boolean {
	return before.phase.name === "idle" && after.phase.name !== "idle";
}

/** A run that a person's prompt starts. */
function refills(moment: Moment): boolean {
	return startsRun(moment) && moment.before.phase.name === "idle" && moment.before.phase.prompted;
}

function isReEnabled({ before, input }: Moment, id: MeterId): boolean {
	if (input.type !== "limit_set" || input.meter !== id) return false;
	return before.meters[id].limit.max === "unlimited" && input.max !== "unlimited";
}

/** The count of a meter begins again. */
function opensRound(moment: Moment, id: MeterId): boolean {
	if (refills(moment)) return isOfRound(id) || OVER_TREE.includes(id);
	return isOfRound(id) && (continues(moment, id) || isReEnabled(moment, id));
}

/** The repetition of a failed turn. */
function isRetry({ before: { phase }, input }: Moment): boolean {
	if (input.type !== "turn_requested" || (phase.name !== "running" && phase.name !== "finishing")) return false;
	return hasFailed(phase.run.turn, "nothing");
}

/** A request that the meter counts, or whose gate it is checked at, admitted or not; a retry is none. */
function isAt(moment: Moment, id: MeterId): boolean {
	const { input } = moment;
	if (!isRequest(input) || isRetry(moment)) return false;
	return concerns(id, input.type === "turn_requested" ? "turn" : "call") && !(id === "repeats" && isExempt(moment));
}

/** A call of a tool whose calls may repeat. */
function isExempt({ before, input }: Moment): boolean {
	return input.type === "tool_call_requested" && before.exempt.includes(input.call.tool);
}

/** A request at a gate of the meter while nothing is decided yet. */
function isOpenRequest(moment: Moment, id: MeterId): boolean {
	const { phase } = moment.before;
	if (phase.name === "idle") return moment.input.type === "turn_requested" && isAt(moment, id);
	return phase.name === "running" && isAt(moment, id);
}

/** The first turn of a final pass that begins with this request. */
function isFinal({ after }: Moment): boolean {
	return after.phase.name === "finishing";
}

/** Counted along: one meter that adds up. */
function countAfter(moment: Moment, id: MeterId, before: number): number {
	const { decision, after } = moment;
	if (isCarriedOver(moment, id)) return moment.input.used[id];
	const n = toldOf(moment, id)?.used ?? (opensRound(moment, id) ? 0 : before);
	if (kindOf(id).known === "after") return n + chargeOf(moment, id);
	const isOnTop = after.phase.name === "finishing" && isOfRound(id);
	const isCounted = !isShared(id) || isLimited(moment.before, id);
	return decision === "admit" && isAt(moment, id) && !isOnTop && isCounted ? n + 1 : n;
}

/** The count of a session that is resumed. */
function isCarriedOver(
	moment: Moment,
	id: MeterId,
): moment is Moment & { readonly input: { readonly used: Readonly<Record<MeterId, number>> } } {
	const { before, input } = moment;
	return before.phase.name === "idle" && input.type === "counted" && input.used[id] !== undefined;
}

/** Counted along: the calls in a row. */
class Row {
	calls: readonly Call[] = [];
	/** A call that went on in circles was refused: in this turn, or in an earlier one. */
	warned: "no" | "just_now" | "earlier" = "no";
	/** Of the last call: how often there was what it completes; if it did not pass, how often there was before it. */
	streak = 0;

	take(moment: Moment): void {
		if (opensRound(moment, "repeats")) [this.calls, this.warned, this.streak] = [[], "no", 0];
		const { before, input, decision } = moment;
		const isTurn = input.type === "turn_requested" && decision === "admit" && !isRetrying(moment.after);
		if (isTurn && this.warned === "just_now" && moment.after.phase.name === "running") this.warned = "earlier";
		const isOpen = before.phase.name === "idle" || before.phase.name === "running";
		if (input.type !== "tool_call_requested" || !isOpen) return;
		const calls = isExempt(moment) ? [] : [...this.calls, input.call];
		this.streak = isExempt(moment) ? 0 : streakOf(calls) - (decision === "admit" ? 0 : 1);
		if (decision === "wait") return;
		this.calls = calls;
		if (isRefusedFirst(moment)) this.warned = "just_now";
		else if (!circles(calls)) this.warned = "no";
	}
}

/** A call that is refused although the run goes on. */
function isRefusedFirst({ input, decision, after }: Moment): boolean {
	return input.type === "tool_call_requested" && decision === "refuse" && after.phase.name === "running";
}

promise("NothingPassesWithoutAnAdmit: a request gets one decision, and only an admitted one is counted", (moments) => {
	for (const moment of moments) {
		const { before, input, decision, after } = moment;
		assert.equal(decision !== undefined, isRequest(input));
		if (decision === "admit") continue;
		for (const id of COUNTS) {
			const isTold = isCarriedOver(moment, id) || toldOf(moment, id) !== undefined;
			assert.ok(after.meters[id].used <= before.meters[id].used || isTold);
		}
		for (const id of RUN_METER_IDS.filter((id) => kindOf(id).known === "before")) {
			assert.ok((endOf(moment) ?? spent(after))[id] <= spent(before)[id]);
		}
		assert.ok(isOpen(before) || !isOpen(after), "a turn begins without an admit");
	}
});

promise(
	"NMeansN: a request passes as long as less than N is spent",
	(moments) => {
		for (const id of SUMS) {
			let n = 0;
			let isPassed = false;
			for (const moment of moments) {
				const max = bound(moment.after, id);
				const used = opensRound(moment, id) ? 0 : n;
				n = countAfter(moment, id, n);
				assert.equal(moment.after.meters[id].used, n);
				if (continues(moment, id)) isPassed = true;
				// Of what is shared the ledger knows more than we do.
				if (max > 0 && !isShared(id)) {
					if (gatedBy(moment) === id) assert.ok(used >= max, `gated at ${used} of ${max} ${id}`);
					if (gatedBy(moment) === id && id === "turns") assert.equal(used, max);
					const isAdmitted = moment.decision === "admit" && isOpenRequest(moment, id);
					if (isAdmitted && !isFinal(moment)) assert.ok(used < max || isPassed, `admitted at ${used} of ${max} ${id}`);
				}
				if (isOpenRequest(moment, id) && moment.decision !== "wait") isPassed = false;
				if (endOf(moment)) isPassed = false;
			}
		}
	},
	CHANGES,
);

promise(
	"ZeroAsksEveryTime: a yes admits one request, and without one none is admitted",
	(moments) => {
		for (const id of OWN) {
			let yes = 0;
			for (const moment of moments) {
				if (bound(moment.after, id) !== 0) continue;
				if (continues(moment, id)) yes = 1;
				const isAdmitted = isOpenRequest(moment, id) && moment.decision === "admit" && !isFinal(moment);
				if (isAdmitted) assert.equal(yes, 1);
				if (isAdmitted || endOf(moment)) yes = 0;
				if (!moment.after.attended) assert.equal(yes, 0);
			}
		}
	},
	CHANGES,
);

promise("GateCountsNothing: a request that waits, is refused or is aborted is not counted", (moments) => {
	for (const moment of moments) {
		if (moment.decision === undefined || moment.decision === "admit") continue;
		for (const id of SUMS) {
			assert.equal(moment.after.meters[id].used, opensRound(moment, id) ? 0 : moment.before.meters[id].used);
		}
		assert.deepEqual(spent(moment.after), spent(moment.before));
	}
});

promise("MetersAreIndependent: a yes makes room on its own meter alone", (moments) => {
	for (const moment of moments) {
		for (const id of METER_IDS.filter((id) => continues(moment, id))) {
			const { before, after } = moment;
			if (isOfRound(id)) assert.deepEqual([after.meters[id].used, bound(after, id)], [0, bought(moment, id)]);
			else assert.ok(before.meters[id].used === after.meters[id].used && after.meters[id].used < bound(after, id));
			for (const other of METER_IDS) if (other !== id) assert.equal(after.meters[other], before.meters[other]);
		}
	}
});

promise("WidestScopeFirst: a limit does not act where a wider one keeps the same request back", (moments) => {
	for (const moment of moments) {
		const { before, input, after } = moment;
		const { name } = before.phase;
		const id = gatedBy(moment);
		const isAtTurn = input.type === "turn_requested" || input.type === "turn_ended";
		const isChecked = isContinued(moment) || (isAtTurn && (name === "idle" || name === "running"));
		if (id === undefined || isShared(id) || !isChecked || after.phase.name === "idle") continue;
		// A turn of the final pass that begins here is counted already.
		const { meters } = isContinued(moment) ? after : before;
		const { passes } = after.phase.run;
		for (const wider of isOfRound(id) ? OVER_SESSION : []) {
			assert.ok(meters[wider].used < bound(after, wider) || passes.includes(wider), `${id} before ${wider}`);
		}
		for (const wider of isHeld(before) ? [] : SHARED) {
			assert.ok(meters[wider].used < bound(after, wider), `${id} before ${wider}`);
		}
	}
});

promise("SessionsCountOn: no prompt, no yes and no limit clears the count of a session", (moments) => {
	for (const id of OVER_SESSION) {
		let n = 0;
		for (const moment of moments) {
			const before = n;
			n = countAfter(moment, id, n);
			assert.equal(moment.after.meters[id].used, n);
			assert.ok(n >= before || isCarriedOver(moment, id));
		}
	}
});

promise("SessionsGrantATenth: a yes grants it on top of what is spent, and what is granted lasts", (moments) => {
	for (const id of OVER_SESSION) {
		let extra = 0;
		for (const moment of moments) {
			const { before, input, after } = moment;
			const { limit, used } = before.meters[id];
			const isLimited = limit.max !== "unlimited";
			const over = Math.max(0, used - bound(before, id));
			if (continues(moment, id)) extra += over + bought(moment, id);
			if (input.type === "limit_raised" && input.meter === id && isLimited) extra += over + input.by;
			if (input.type === "limit_set" && input.meter === id) extra = 0;
			assert.equal(after.meters[id].extra, extra);
		}
	}
});

promise("SharedNeverPassUnheld: no turn begins without room in the ledger, or a yes to go on without it", (moments) => {
	let hasRoom = false;
	let isWaived = false;
	for (const moment of moments) {
		const { before, input, decision, after } = moment;
		if (startsRun(moment)) isWaived = false;
		if (isYes(moment) && isWithoutLedger(moment)) isWaived = true;
		const isRunning = before.phase.name === "running";
		if (input.type === "held" && isRunning) hasRoom = true;
		if (input.type === "unreachable" && isRunning && (isWaived || !isSharing(before))) hasRoom = true;
		const begins = input.type === "turn_requested" && decision === "admit" && !isRetry(moment);
		if (begins && after.phase.name === "running") assert.ok(hasRoom || !isSharing(before));
		if (begins || after.phase.name !== "running") hasRoom = false;
	}
});

promise("HoldsAreUsedOrReleased: the next turn uses a hold, or it is released once", (moments) => {
	let hasRoom = false;
	for (const moment of moments) {
		const { before, input, decision, effects, after } = moment;
		const isLate = input.type === "held" && before.phase.name !== "running";
		const isLeft: boolean = hasRoom && after.phase.name !== "running";
		const releases = effects.filter(({ type }) => type === "release").length;
		assert.equal(releases, isLate || isLeft ? 1 : 0);
		if (isHeld(after)) hasRoom = true;
		if (isLeft || (input.type === "turn_requested" && decision === "admit" && !isRetry(moment))) hasRoom = false;
		assert.equal(isHeld(after), hasRoom);
	}
});

promise("TheLedgerHearsOfGrants: every yes about a shared limit and every raise reach it once", (moments) => {
	const promised: Record<MeterId, number> = { ...perMeter(() => 0) };
	for (const moment of moments) {
		const { before, input, effects, after } = moment;
		const raises: Effect[] = [];
		const raise = (meter: MeterId, by: number, more = {}): unknown =>
			raises.push({ type: "raise", meter, by, ...more });
		for (const id of SHARED) {
			if (continues(moment, id)) raise(id, bought(moment, id), { isAnswer: true });
			if (input.type === "limit_set" && input.meter === id) promised[id] = 0;
			if (input.type !== "limit_raised" || input.meter !== id || !isLimited(before, id) || isFixed(before, id))
				continue;
			if (before.phase.name === "idle" && OVER_TREE.includes(id)) promised[id] += input.by;
			else raise(id, input.by);
		}
		if (startsRun(moment)) {
			for (const id of OVER_TREE) {
				if (refills(moment)) assert.equal(after.meters[id].extra, promised[id]);
				else if (promised[id] > 0) raise(id, promised[id]);
				promised[id] = 0;
			}
		}
		assert.deepEqual(
			effects.filter(({ type }) => type === "raise"),
			raises,
		);
	}
});

promise("MembersNeverGrant: a member grants nothing that is shared, and nobody what a fleet shares", (moments) => {
	for (const { before, input, effects, after } of moments) {
		for (const effect of effects) {
			if (effect.type === "raise") assert.ok(!isFixed(before, effect.meter));
			const isAboutLedger = after.phase.name === "asking" && after.phase.unreachable !== undefined;
			if (effect.type === "ask") assert.ok(!isFixed(before, effect.meter) || (isAboutLedger && !before.isMember));
		}
		if (input.type === "limit_raised" && isFixed(before, input.meter)) assert.equal(after, before);
	}
});

/** Nobody here can grant more of it. */
function isFixed({ isMember }: State, id: MeterId): boolean {
	return OVER_FLEET.includes(id) || (isMember && isShared(id));
}

promise("ClosedWithoutTheLedger: the person is asked, or the run ends as a failure of the breaker", (moments) => {
	for (const moment of moments) {
		const { before, input, effects, after } = moment;
		const { phase } = before;
		const failed = (message: string): unknown => ({ kind: "failed", by: "breaker", message });
		const verdict = after.phase.name === "stopped" ? after.phase.verdict : undefined;
		if (input.type === "unreachable" && phase.name === "running" && isSharing(before) && !isHeld(before)) {
			const { refusedSinceStop, spent, isWaived } = phase.run;
			const isAlone = !before.attended || before.isMember || (refusedSinceStop !== undefined && spent.turns === 0);
			assert.equal(after.phase.name, isWaived ? "running" : isAlone ? "stopped" : "asking");
			assert.equal(has(moment, "ask"), after.phase.name === "asking");
			if (verdict) assert.deepEqual([verdict, effects], [failed(input.message), [{ type: "abort" }]]);
		}
		if (input.type !== "answered" || phase.name !== "asking" || phase.unreachable === undefined) continue;
		if (input.answer === "yes") assert.ok(after.phase.name === "running" && after.phase.run.isWaived);
		else assert.deepEqual([verdict, effects], [failed(phase.unreachable), [{ type: "abort" }]]);
	}
});

promise("CirclesAreCounted: the streak is counted as it comes, and its limit acts once it is reached", (moments) => {
	const row = new Row();
	for (const moment of moments) {
		const { before, input, decision, after } = moment;
		row.take(moment);
		assert.equal(after.meters.repeats.used, row.streak);
		const isGated = gatedBy(moment) === "repeats" || isRefusedFirst(moment);
		if (input.type !== "tool_call_requested" || before.phase.name !== "running") continue;
		const isBelow = row.streak - (decision === "admit" ? 1 : 0) < bound(before, "repeats");
		if (isGated) assert.ok(!isBelow && !isExempt(moment));
		const mayPass = isBelow || isExempt(moment) || before.phase.run.passes.includes("repeats");
		if (decision === "admit") assert.ok(mayPass);
	}
});

promise("CirclesAreRefusedFirst: the limit acts on a run that nobody watches only after a refusal", (moments) => {
	const row = new Row();
	for (const moment of moments) {
		const { before, input, effects } = moment;
		const isKnown =
			input.type === "tool_call_requested" && row.warned === "earlier" && circles([...row.calls, input.call]);
		row.take(moment);
		if (before.attended || input.type !== "tool_call_requested") continue;
		if (gatedBy(moment) === "repeats") assert.ok(isKnown);
		if (isRefusedFirst(moment)) assert.ok(!isKnown && effects.length === 0);
	}
});

promise("CirclesArePointedOut: once, at the third repetition, if the limit is higher", (moments) => {
	const row = new Row();
	for (const moment of moments) {
		const { before, input, decision, effects } = moment;
		row.take(moment);
		const max = bound(before, "repeats");
		const isThird = decision === "admit" && row.streak === 3 && max > 3 && max < Infinity;
		const isCall = input.type === "tool_call_requested" && before.phase.name === "running" && !isExempt(moment);
		const expected = isThird && isCall ? [{ type: "point_out", call: input.call, times: 3 }] : [];
		assert.deepEqual(
			effects.filter(({ type }) => type === "point_out"),
			expected,
		);
	}
});

promise("OnlyAmountsAreCut: under abort, with nobody to ask, once their limit is reached", (moments) => {
	for (const { before, input, effects, after } of moments) {
		if (input.type !== "ran_out") continue;
		const { used, limit } = before.meters[input.meter];
		const isAlone = before.phase.name === "running" && !before.attended && limit.policy === "abort";
		const isCut = isAlone && kindOf(input.meter).known === "after" && used >= bound(before, input.meter);
		if (!isCut) assert.equal(after, before);
		const released = isHeld(before) ? [{ type: "release" }] : [];
		assert.deepEqual(effects, isCut ? [...released, { type: "abort" }] : []);
		if (!isCut) continue;
		const trip = { meter: input.meter, limit: bound(before, input.meter) };
		const verdict = { kind: "exhausted", cut: true, ...trip };
		assert.deepEqual(after.phase, { name: "stopped", run: { ...before.phase.run, isHeld: false }, verdict });
	}
});

promise(
	"UnlimitedNeverGates: a meter without a limit is never asked about, stops nothing and is counted",
	(moments) => {
		for (const id of METER_IDS) {
			for (const moment of moments) {
				const { before, after } = moment;
				if (before.meters[id].limit.max !== "unlimited") continue;
				assert.notEqual(gatedBy(moment), id);
				if (after.meters[id].limit.max !== "unlimited") continue;
				if (id !== "repeats") assert.equal(after.meters[id].used, countAfter(moment, id, before.meters[id].used));
			}
		}
	},
);

promise("AmountsStopNothing: a charge adds to its meter in every phase and does nothing else", (moments) => {
	for (const moment of moments) {
		const { before, input, effects, after } = moment;
		if (input.type !== "charged") continue;
		assert.deepEqual(effects, []);
		const meters = perMeter((id) => ({ ...before.meters[id], used: before.meters[id].used + chargeOf(moment, id) }));
		const { phase } = before;
		const sum = { ...spent(before), ...perRunMeter((id) => spent(before)[id] + chargeOf(moment, id)) };
		const expected = phase.name === "idle" ? phase : { ...phase, run: { ...phase.run, spent: sum } };
		assert.deepEqual(after, { ...before, meters, phase: expected });
	}
});

promise("RetriesAreFree: a repeated turn is neither counted nor gated", (moments) => {
	for (const moment of moments) {
		const { before, decision, effects, after } = moment;
		const { phase } = before;
		if (!isRetry(moment) || phase.name === "idle") continue;
		const { failed } = phase.run.turn as FailedTurn;
		assert.equal(decision, "admit");
		assert.deepEqual(effects, []);
		assert.equal(after.meters, before.meters);
		assert.deepEqual(after.phase, { ...phase, run: { ...phase.run, turn: { failed, since: "retry" } } });
	}
});

promise("NewMessagesAreNoRetries: a turn after a failure and a message is counted or does not pass", (moments) => {
	let failure: "none" | "failed" | "followed" = "none";
	for (const moment of moments) {
		const { before, input, decision, after } = moment;
		const isGoing = before.phase.name === "running" || before.phase.name === "finishing";
		if (input.type === "turn_failed" && isGoing && failure === "none") failure = "failed";
		if (input.type === "turn_ended" && isOpen(before)) failure = "none";
		if (input.type === "message_entered" && failure === "failed") failure = "followed";
		if (input.type === "turn_requested" && failure === "followed" && decision === "admit") {
			assert.equal(spent(after).turns, spent(before).turns + 1);
		}
		const isNext = input.type === "turn_requested" && decision === "admit" && !isRetry(moment);
		if (isNext || after.phase.name === "idle") failure = "none";
	}
});

promise(
	"OnlyAPersonRefills: all other runs count on, and within a run only a yes and a new limit clear a count",
	(moments) => {
		let isPrompted = false;
		for (const moment of moments) {
			const { before, input, after } = moment;
			if (input.type === "prompted" && before.phase.name === "idle") isPrompted = true;
			for (const id of [...OVER_ROUND, ...OVER_TREE]) {
				const isCleared = after.meters[id].used < before.meters[id].used;
				const isGranted = isOfRound(id) ? continues(moment, id) || isReEnabled(moment, id) : toldOf(moment, id);
				const isClearing = (startsRun(moment) && isPrompted) || isGranted;
				if (isCleared) assert.ok(isClearing || (id === "repeats" && input.type === "tool_call_requested"));
				if (startsRun(moment) && isPrompted) assert.equal(after.meters[id].used, countAfter(moment, id, 0));
			}
			if (startsRun(moment)) isPrompted = false;
		}
	},
);

/** Stopped because the breaker, or what it needs, failed. */
function isBroken({ phase }: State): boolean {
	return phase.name === "stopped" && phase.verdict.kind === "failed";
}

/** With the grants between runs. */
function isReachedAtStart({ meters, phase }: State, id: MeterId): boolean {
	const { used, limit, extra } = meters[id];
	return limit.max !== "unlimited" && used >= limit.max + extra + (phase.name === "idle" ? phase.promised[id] : 0);
}

promise(
	"WokenRunsAreRefused: after a stop a run that nobody prompted does not start while a limit is reached",
	(moments) => {
		/** Runs refused since one was stopped at a limit. */
		let refused: number | undefined;
		let isAtQuestion = false;
		let isPrompted = false;
		let isWoken = false;
		for (const moment of moments) {
			const { before, input, decision, effects } = moment;
			if (input.type === "prompted" && before.phase.name === "idle") isPrompted = true;
			if (startsRun(moment)) {
				isWoken = refused !== undefined && !isPrompted;
				if (isPrompted) refused = undefined;
				isPrompted = false;
				const atOnce = OWN.some((id) => isReachedAtStart(before, id)) ? "abort" : "admit";
				if (isWoken && isRequest(input)) assert.equal(decision, isSharing(before) ? "wait" : atOnce);
			} else if (isWoken && decision === "admit" && before.phase.name === "running" && spent(before).turns === 0) {
				const isTurn = input.type === "turn_requested" && !isRetry(moment);
				if (isTurn) assert.ok(!OWN.some((id) => isReachedAtStart(before, id)));
			}
			if (isWoken && spent(before).turns === 0) assert.ok(!has(moment, "ask"));
			if (before.phase.name === "asking" && has(moment, "close_question") && moment.after.phase.name !== "running")
				isAtQuestion = true;
			const isMissed = input.type === "unreachable" || isWithoutLedger(moment);
			if (isMissed && before.phase.name !== "stopped" && isBroken(moment.after)) isAtQuestion = true;
			const end = effects.find((effect) => effect.type === "end");
			if (end === undefined) continue;
			const isRefused: boolean = isWoken && end.outcome.turns === 0;
			const isStop: boolean = isAtQuestion || ("meter" in end.outcome && end.outcome.kind !== "wrapped_up");
			assert.equal(end.repeated, isStop && isRefused && refused! > 0);
			refused = isStop ? (isRefused ? refused! + 1 : 0) : undefined;
			isAtQuestion = false;
		}
	},
);

promise("OneQuestionAtATime: every question is answered once or closed once, by somebody who is there", (moments) => {
	let isAsked = false;
	for (const moment of moments) {
		const { input, decision, effects, after } = moment;
		const isAnswered = isAsked && input.type === "answered";
		if (has(moment, "close_question")) assert.ok(isAsked && !isAnswered);
		if (isAnswered || has(moment, "close_question")) isAsked = false;
		else if (isAsked && isRequest(input)) {
			assert.equal(decision, "wait");
			assert.deepEqual(effects, []);
		}
		const questions = effects.filter(({ type }) => type === "ask").length;
		assert.ok(questions === 0 || (questions === 1 && !isAsked && after.attended));
		isAsked ||= questions === 1;
		assert.equal(after.phase.name === "asking", isAsked);
		if (decision === "wait") assert.ok(isAsked || has(moment, "reserve"));
	}
});

promise("OneAdvicePerRound: again only if the person asks for it or a compaction took it", (moments) => {
	let given: MeterId | undefined;
	let isWanted = false;
	for (const moment of moments) {
		const { before, input, effects } = moment;
		if (given !== undefined && (opensRound(moment, given) || continues(moment, given))) given = undefined;
		if (refills(moment)) [given, isWanted] = [undefined, false];
		const { name } = before.phase;
		if (input.type === "wrap_up_requested" && (name === "running" || name === "asking")) isWanted = true;
		const advice = effects.find((effect) => effect.type === "advise");
		if (advice === undefined) continue;
		assert.equal(effects.length, 1);
		if (input.type === "turn_ended") assert.ok(input.goesOn);
		if (input.type === "message_lost") assert.equal(advice.meter, given);
		else if (isWanted) assert.equal(advice.meter, "turns");
		else assert.ok(given === undefined && before.meters[advice.meter].limit.max !== "unlimited");
		given = advice.meter;
		isWanted = false;
	}
});

promise("OneFinalPass: in it no tool call is admitted, few turns are, and the answer is demanded once", (moments) => {
	let mayBegin = true;
	let turns = 0;
	let demands = 0;
	for (const moment of moments) {
		const { before, input, decision, after } = moment;
		if (startsRun(moment) || has(moment, "resume")) mayBegin = true;
		const isIn = after.phase.name === "finishing";
		if (isIn && before.phase.name !== "finishing") {
			assert.ok(mayBegin);
			mayBegin = false;
			turns = demands = 0;
		}
		if (!isIn) continue;
		if (input.type === "tool_call_requested") assert.equal(decision, "refuse");
		if (input.type === "turn_requested" && decision === "admit" && !isRetry(moment)) turns++;
		if (has(moment, "synthesize") && input.type !== "message_lost" && !has(moment, "continue")) demands++;
		assert.ok(turns <= FINAL_TURNS && demands <= 1);
		if (has(moment, "continue")) assert.ok(input.type === "turn_ended" && !input.goesOn && turns < FINAL_TURNS);
		if (!kindOf(after.phase.trip.meter).gates.includes("call")) assert.equal(demands, 1);
	}
});

promise("RoomEndsTheFinalPass: a limit above what is spent lets the model work again", (moments) => {
	for (const { before, input, effects, after } of moments) {
		if (before.phase.name !== "finishing" || (input.type !== "limit_set" && input.type !== "limit_raised")) continue;
		if (input.type === "limit_raised" && isFixed(before, input.meter)) continue;
		const { used, limit, extra } = after.meters[input.meter];
		const isRoom = limit.max === "unlimited" || used < limit.max + extra;
		const isOver = isRoom && before.phase.trip.meter === input.meter;
		const others = effects.filter(({ type }) => type !== "raise");
		assert.deepEqual(others, isOver ? [{ type: "resume" }] : []);
		assert.equal(after.phase.name, isOver ? "running" : "finishing");
	}
});

promise(
	"NothingPassesAfterTheStop: every turn is aborted and every tool call refused until the host has settled",
	(moments) => {
		for (const { before, input, decision, effects, after } of moments) {
			if (before.phase.name !== "stopped") continue;
			if (input.type === "turn_requested") assert.deepEqual([decision, effects], ["abort", []]);
			if (input.type === "tool_call_requested") assert.deepEqual([decision, effects], ["refuse", []]);
			const isOver = input.type === "settled" || input.type === "shut_down";
			assert.equal(after.phase.name, isOver ? "idle" : "stopped");
		}
	},
);

promise("FailsClosed: a breaker that fails in a run stops and aborts it", (moments) => {
	for (const { before, input, effects, after } of moments) {
		if (input.type !== "broke" || before.phase.name === "idle") continue;
		assert.equal(after.phase.name, "stopped");
		assert.deepEqual(effects.at(-1), { type: "abort" });
	}
});

promise("OneOutcomePerRun: with what the run itself has spent", (moments) => {
	let own: ReturnType<typeof nothing> | undefined;
	let isAdvised = false;
	const row = new Row();
	for (const moment of moments) {
		row.take(moment);
		const { decision } = moment;
		if (startsRun(moment)) [own, isAdvised] = [nothing(), false];
		const end = endOf(moment);
		assert.equal(end !== undefined, own !== undefined && moment.after.phase.name === "idle");
		if (own === undefined) continue;
		for (const id of RUN_METER_IDS) {
			const isCounted = decision === "admit" && kindOf(id).known === "before" && isAt(moment, id);
			if (isCounted) own[id] = id === "repeats" ? Math.max(own[id], row.streak) : own[id] + 1;
			own[id] += chargeOf(moment, id);
		}
		if (isYes(moment)) own.continuations++;
		if (isContinued(moment)) isAdvised = false;
		if (isAdvice(moment)) isAdvised = true;
		if (end) assert.deepEqual({ ...end, ...own, advised: isAdvised }, end);
		if (end) own = undefined;
	}
});

promise("LastCauseDecides: the outcome names the cause that ended the run", (moments) => {
	let stop: OutcomeKind | undefined;
	let isFailed = false;
	let isAdvised = false;
	let isReplied = false;
	for (const moment of moments) {
		const { before, input, decision, after } = moment;
		const from = before.phase.name;
		if (startsRun(moment)) [stop, isFailed, isAdvised] = [undefined, false, false];
		if (after.phase.name === "finishing" && from !== "finishing") isReplied = false;
		if (isContinued(moment)) isAdvised = false;
		if (isAdvice(moment)) isAdvised = true;
		if (input.type === "turn_ended" && from === "finishing" && isOpen(before)) isReplied ||= input.concluded === true;
		if (input.type === "turn_failed" && (from === "running" || from === "finishing")) isFailed = true;
		if (input.type === "turn_requested" && decision === "admit") isFailed = false;
		if (input.type === "message_entered" && isRetrying(before)) isFailed = true;
		const isOver = input.type === "shut_down" || (input.type === "settled" && from === "asking");
		if (from !== "stopped" && (after.phase.name === "stopped" || (from !== "idle" && isOver))) {
			stop = causeOf(moment, isReplied);
		}
		const inFinalPass: OutcomeKind = isReplied ? "synthesized" : "exhausted";
		const natural: OutcomeKind = from === "finishing" ? inFinalPass : isAdvised ? "wrapped_up" : "completed";
		const end = endOf(moment);
		if (end) assert.equal(end.kind, stop ?? (isFailed ? "failed" : natural));
		if (end?.kind === "failed") assert.equal(end.by, stop === undefined ? "provider" : "breaker");
		if (end?.kind === "failed") assert.equal("meter" in end, stop === undefined && from === "finishing");
	}
});

function isOpen({ phase }: State): boolean {
	return phase.name !== "idle" && isTurnOpen(phase.run);
}

/** Of a stop that was decided in a phase. */
function causeOf(moment: Moment, isReplied: boolean): OutcomeKind {
	const { type } = moment.input;
	const phase = moment.before.phase.name;
	if (type === "broke" || type === "unreachable") return "failed";
	if (type === "interrupted") return "interrupted";
	if (isWithoutLedger(moment)) return "failed";
	if (phase === "asking") return "declined";
	if (type === "shut_down") return "interrupted";
	return phase === "finishing" && isReplied ? "synthesized" : "exhausted";
}

test("LateTriggersChangeNothing: an input that no rule accepts leaves the very same state", async () => {
	const property = fc.property(setup, sequences, ({ attended, isMember, events }, more) => {
		const sides = new Sides(attended, isMember);
		for (const input of [...events, ...more]) {
			const { before, effects, after, rules } = sides.send(input);
			if (rules.length > 0) continue;
			assert.equal(after, before);
			assert.deepEqual(effects, []);
		}
	});
	await check(property, 200, 50, 40);
});
