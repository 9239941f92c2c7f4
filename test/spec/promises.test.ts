/**
 * What the spec's contract promises about sequences of events, one property each, by name. They are checked on the core
 * alone, by counting along: neither what the core counts nor what the spec says is believed.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FINAL_TURNS, transition } from "../../src/core/breaker.ts";
import type { Outcome, OutcomeKind, Spent } from "../../src/core/outcome.ts";
import type { Effect, Event, MeterId, State } from "../../src/core/state.ts";
import { METER_IDS } from "../../src/core/state.ts";
import { check } from "./check.ts";
import { setup, weighted } from "./events.ts";
import { fresh, type Moment, Sides } from "./sides.ts";

const sequences = fc.array(fc.oneof(...weighted), { maxLength: 60, size: "max" });

type Seen = Omit<Moment, "rules">;

/** Holds for whatever happens, one event after the other; some promises speak of what does not change meanwhile. */
function promise(
	sentence: string,
	holds: (moments: readonly Seen[]) => void,
	without: readonly Event["type"][] = [],
): void {
	test(sentence, async () => {
		const property = fc.property(setup, sequences, ({ attended, events }, more) => {
			let before = fresh(attended);
			const moments = [...events, ...more.filter(({ type }) => !without.includes(type))].map((event): Seen => {
				const [after, effects] = transition(before, event);
				const moment = { before, event, effects, after };
				before = after;
				return moment;
			});
			holds(moments);
		});
		await check(property, 1000);
	});
}

const CHANGES: readonly Event["type"][] = ["limit_set", "limit_raised"];

const NOTHING: Spent = { turns: 0, toolCalls: 0, cost: 0, continuations: 0, advised: false };

function spent({ phase }: State): Spent {
	return phase.name === "idle" ? NOTHING : phase.run.spent;
}

function endOf({ effects }: Seen): Outcome | undefined {
	return effects.flatMap((effect) => (effect.type === "end" ? [effect.outcome] : []))[0];
}

/** How many requests of a meter this event has started. */
function started(moment: Seen, id: MeterId): number {
	return (endOf(moment) ?? spent(moment.after))[id] - spent(moment.before)[id];
}

function has({ effects }: Seen, type: Effect["type"]): boolean {
	return effects.some((effect) => effect.type === type);
}

/** A compaction that takes the advice away brings back what was given. */
function isAdvice(moment: Seen): boolean {
	return has(moment, "advise") && moment.event.type !== "message_lost";
}

function asksAbout({ effects }: Seen, id: MeterId): boolean {
	return effects.some((effect) => effect.type === "ask" && effect.meter === id);
}

/** A yes to the question about a meter. */
function continues({ before: { phase }, event }: Seen, id: MeterId): boolean {
	return event.type === "answered" && event.answer === "yes" && phase.name === "asking" && phase.meter === id;
}

/** A yes about another meter before the request that this one was asked about: the last yes counts. */
function isOvertaken(moment: Seen, id: MeterId): boolean {
	return METER_IDS.some((other) => other !== id && continues(moment, other));
}

function startsRun({ before, after }: Seen): boolean {
	return before.phase.name === "idle" && after.phase.name !== "idle";
}

/** A run that a person's prompt starts. */
function refills(moment: Seen): boolean {
	return startsRun(moment) && moment.before.phase.name === "idle" && moment.before.phase.prompted;
}

function isReEnabled({ before, event }: Seen, id: MeterId): boolean {
	if (event.type !== "limit_set" || event.meter !== id) return false;
	return before.meters[id].limit.max === "unlimited" && event.max !== "unlimited";
}

/** Where the count of a meter begins again. */
function opensRound(moment: Seen, id: MeterId): boolean {
	return refills(moment) || continues(moment, id) || isReEnabled(moment, id);
}

/** A request of the meter that is made while nothing is decided yet; a repeated turn is none. */
function isRequest({ before: { phase }, event }: Seen, id: MeterId): boolean {
	if (event.type === "tool_call_requested") return id === "toolCalls" && phase.name === "running";
	if (event.type !== "turn_requested" || id !== "turns") return false;
	return phase.name === "idle" || (phase.name === "running" && typeof phase.run.turn === "string");
}

promise(
	"NMeansN: the gate stands after exactly N requests of a round",
	(moments) => {
		for (const id of METER_IDS) {
			let n = 0;
			for (const moment of moments) {
				const { after } = moment;
				const { max } = after.meters[id].limit;
				if (max === "unlimited" || max === 0) continue;
				if (opensRound(moment, id)) n = 0;
				if (asksAbout(moment, id)) assert.equal(n, max);
				if (!isRequest(moment, id)) continue;
				assert.equal(after.phase.name === "running", n < max, `request ${n + 1} of ${max} ${id}`);
				if (after.phase.name === "running") assert.equal(started(moment, id), 1);
				if (after.phase.name === "running") n++;
			}
		}
	},
	CHANGES,
);

promise(
	"ZeroAsksEveryTime: a yes starts one request, and without one none starts",
	(moments) => {
		for (const id of METER_IDS) {
			let yes = 0;
			for (const moment of moments) {
				if (moment.after.meters[id].limit.max !== 0) continue;
				if (continues(moment, id)) yes = 1;
				if (isOvertaken(moment, id)) yes = 0;
				const starts = moment.after.phase.name === "finishing" ? 0 : started(moment, id);
				assert.ok(starts <= yes);
				if (isRequest(moment, id)) assert.equal(starts, yes);
				if (starts > 0 || endOf(moment)) yes = 0;
				if (id === "turns" && !moment.after.attended) assert.equal(started(moment, id), 0);
			}
		}
	},
	CHANGES,
);

promise("GateCountsNothing: what is asked about, held or refused is not counted", (moments) => {
	for (const moment of moments) {
		if (!has(moment, "ask") && !has(moment, "hold") && !has(moment, "refuse")) continue;
		for (const id of METER_IDS) {
			const before = refills(moment) ? 0 : moment.before.meters[id].used;
			assert.equal(moment.after.meters[id].used, before);
			assert.equal(started(moment, id), 0);
		}
	}
});

promise("MetersAreIndependent: a yes is about one meter", (moments) => {
	for (const id of METER_IDS) {
		const other = id === "turns" ? "toolCalls" : "turns";
		let isFirst = false;
		for (const moment of moments) {
			const { before, after } = moment;
			if (continues(moment, id)) {
				assert.equal(after.meters[other], before.meters[other]);
				isFirst = true;
			}
			if (isFirst && isRequest(moment, id)) assert.equal(after.meters[id].used, 1);
			if (isOvertaken(moment, id) || isRequest(moment, id) || endOf(moment) || isReEnabled(moment, id)) isFirst = false;
		}
	}
});

promise("UnlimitedNeverGates: what has no limit is never asked about, stops nothing and is counted", (moments) => {
	for (const id of METER_IDS) {
		for (const moment of moments) {
			const { before, after } = moment;
			if (before.meters[id].limit.max !== "unlimited") continue;
			assert.ok(!asksAbout(moment, id));
			if (!isRequest(moment, id)) continue;
			assert.equal(after.phase.name, "running");
			assert.equal(after.meters[id].used, (refills(moment) ? 0 : before.meters[id].used) + 1);
		}
	}
});

promise("RetriesAreFree: a repeated turn is neither counted nor gated", (moments) => {
	for (const moment of moments) {
		const { before, event, effects, after } = moment;
		const { phase } = before;
		if (event.type !== "turn_requested" || (phase.name !== "running" && phase.name !== "finishing")) continue;
		if (typeof phase.run.turn === "string") continue;
		assert.deepEqual(effects, []);
		assert.equal(after.meters, before.meters);
		assert.deepEqual(after.phase, { ...phase, run: { ...phase.run, turn: "open" } });
	}
});

promise(
	"OnlyAPersonRefills: all other runs count on, and within a run only a yes and a new limit clear a count",
	(moments) => {
		let isPrompted = false;
		for (const moment of moments) {
			const { before, event, after } = moment;
			if (event.type === "prompted" && before.phase.name === "idle") isPrompted = true;
			for (const id of METER_IDS) {
				const isCleared = after.meters[id].used < before.meters[id].used;
				if (isCleared) assert.ok((startsRun(moment) && isPrompted) || continues(moment, id) || isReEnabled(moment, id));
				if (startsRun(moment) && isPrompted) assert.equal(after.meters[id].used, started(moment, id));
			}
			if (startsRun(moment)) isPrompted = false;
		}
	},
);

promise("OneQuestionAtATime: every question is answered once or closed once, by somebody who is there", (moments) => {
	let isOpen = false;
	for (const moment of moments) {
		const { event, effects, after } = moment;
		const isAnswered = isOpen && event.type === "answered";
		if (has(moment, "close_question")) assert.ok(isOpen && !isAnswered);
		if (isAnswered || has(moment, "close_question")) isOpen = false;
		else if (isOpen && ["turn_requested", "tool_call_requested"].includes(event.type)) {
			assert.deepEqual(effects, [{ type: "hold" }]);
		}
		const questions = effects.filter(({ type }) => type === "ask").length;
		assert.ok(questions === 0 || (questions === 1 && !isOpen && after.attended));
		isOpen ||= questions === 1;
		assert.equal(after.phase.name === "asking", isOpen);
	}
});

promise("OneAdvicePerRound: again only if the person asks for it or a compaction took it", (moments) => {
	let isGiven = false;
	let isWanted = false;
	for (const moment of moments) {
		const { before, event } = moment;
		if (opensRound(moment, "turns")) isGiven = false;
		if (refills(moment)) isWanted = false;
		const { name } = before.phase;
		if (event.type === "wrap_up_requested" && (name === "running" || name === "asking")) isWanted = true;
		if (!has(moment, "advise")) continue;
		assert.ok(moment.effects.length === 1);
		if (event.type === "turn_ended") assert.ok(event.goesOn);
		if (event.type === "message_lost") assert.ok(isGiven);
		else if (!isWanted) assert.ok(!isGiven && before.meters.turns.limit.max !== "unlimited");
		isGiven = true;
		isWanted = false;
	}
});

promise("OneFinalPass: in it no tool call starts, few turns do, and the answer is demanded once", (moments) => {
	let passes = 0;
	let turns = 0;
	let demands = 0;
	for (const moment of moments) {
		const { before, event, after } = moment;
		if (startsRun(moment)) passes = turns = demands = 0;
		const isIn = after.phase.name === "finishing";
		if (isIn && before.phase.name !== "finishing") passes++;
		if (isIn || before.phase.name === "finishing") {
			assert.equal(started(moment, "toolCalls"), 0);
			turns += started(moment, "turns");
		}
		if (has(moment, "synthesize") && event.type !== "message_lost") demands++;
		assert.ok(passes <= 1 && turns <= FINAL_TURNS && demands <= 1);
		if (isIn && turns > 0 && after.phase.trip.meter === "turns") assert.equal(demands, 1);
	}
});

promise(
	"NothingPassesAfterTheStop: every turn is aborted and every tool call refused until the host has settled",
	(moments) => {
		for (const moment of moments) {
			if (moment.before.phase.name !== "stopped") continue;
			const { event, effects, after } = moment;
			if (event.type === "turn_requested") assert.deepEqual(effects, [{ type: "abort" }]);
			if (event.type === "tool_call_requested") assert.deepEqual(effects, [{ type: "refuse" }]);
			for (const id of METER_IDS) assert.equal(started(moment, id), 0);
			const isOver = event.type === "settled" || event.type === "shut_down";
			assert.equal(after.phase.name, isOver ? "idle" : "stopped");
		}
	},
);

promise("FailsClosed: a breaker that fails in a run stops and aborts it", (moments) => {
	for (const moment of moments) {
		if (moment.event.type !== "broke" || moment.before.phase.name === "idle") continue;
		assert.equal(moment.after.phase.name, "stopped");
		assert.deepEqual(moment.effects.at(-1), { type: "abort" });
	}
});

promise("OneOutcomePerRun: with what the run itself has spent", (moments) => {
	let own: { -readonly [K in keyof Spent]: Spent[K] } | undefined;
	for (const moment of moments) {
		const { event } = moment;
		if (startsRun(moment)) own = { ...NOTHING };
		const end = endOf(moment);
		if (own === undefined) assert.equal(end, undefined);
		else {
			own.turns += started(moment, "turns");
			own.toolCalls += started(moment, "toolCalls");
			if (event.type === "charged") own.cost += event.cost;
			const isYes = METER_IDS.some((id) => continues(moment, id));
			if (isYes) own.continuations++;
			own.advised = isAdvice(moment) || (own.advised && !isYes);
		}
		assert.equal(end !== undefined, own !== undefined && moment.after.phase.name === "idle");
		if (end) assert.deepEqual({ ...end, ...own }, end);
		if (end) own = undefined;
	}
});

promise("WhatHappenedLastDecides: the outcome names what ended the run", (moments) => {
	let stop: OutcomeKind | undefined;
	let isFailed = false;
	let isAdvised = false;
	let isReplied = false;
	for (const moment of moments) {
		const { before, event, after } = moment;
		const from = before.phase.name;
		if (startsRun(moment)) [stop, isFailed, isAdvised, isReplied] = [undefined, false, false, false];
		if (METER_IDS.some((id) => continues(moment, id))) isAdvised = false;
		if (isAdvice(moment)) isAdvised = true;
		if (event.type === "turn_ended" && from === "finishing" && isOpen(before)) isReplied ||= event.answered === true;
		if (event.type === "turn_failed" && (from === "running" || from === "finishing")) isFailed = true;
		if (event.type === "turn_requested" && isOpen(after)) isFailed = false;
		const isOver = (event.type === "shut_down" || event.type === "settled") && from === "asking";
		if (
			from !== "stopped" &&
			from !== "idle" &&
			(after.phase.name === "stopped" || isOver || event.type === "shut_down")
		) {
			stop = causeOf(event, from);
			if (stop === "exhausted" && isReplied) stop = "synthesized";
		} else if (startsRun(moment) && after.phase.name === "stopped") stop = "exhausted";
		const natural: OutcomeKind = from === "finishing" ? "synthesized" : isAdvised ? "wrapped_up" : "completed";
		const end = endOf(moment);
		if (end) assert.equal(end.kind, stop ?? (isFailed ? "failed" : natural));
		if (end?.kind === "failed") assert.equal(end.by, stop === undefined ? "provider" : "breaker");
	}
});

function isOpen({ phase }: State): boolean {
	return phase.name !== "idle" && phase.run.turn === "open";
}

/** Of a stop that was decided in a phase. */
function causeOf(event: Event, phase: string): OutcomeKind {
	if (event.type === "broke") return "failed";
	if (event.type === "interrupted") return "interrupted";
	if (phase === "asking") return "declined";
	return event.type === "shut_down" ? "interrupted" : "exhausted";
}

test("LateTriggersChangeNothing: what no rule accepts leaves the very same state", async () => {
	const property = fc.property(setup, sequences, ({ attended, events }, more) => {
		const sides = new Sides(attended);
		for (const event of [...events, ...more]) {
			const { before, effects, after, rules } = sides.send(event);
			if (rules.length > 0) continue;
			assert.equal(after, before);
			assert.deepEqual(effects, []);
		}
	});
	await check(property, 1000);
});
