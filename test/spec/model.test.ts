/** The core does what the spec says: both take thousands of sequences of events and requests alike. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { check, REPLAY } from "./check.ts";
import { INPUT_GROUPS, setup } from "./events.ts";
import { readSpec } from "./reader.ts";
import { type Input, Sides } from "./sides.ts";

/** Rules that took effect. */
const seen = new Set<string>();

class Send implements fc.Command<object, Sides> {
	readonly inputs: readonly Input[];

	constructor(inputs: readonly Input[]) {
		this.inputs = inputs;
	}

	/** Any input may come at any moment: one that has no place must change nothing. */
	check(): boolean {
		return true;
	}

	run(_model: object, sides: Sides): void {
		for (const input of this.inputs) for (const rule of sides.send(input).rules) seen.add(rule);
	}

	toString(): string {
		return JSON.stringify(this.inputs);
	}
}

const commands = fc.commands(
	INPUT_GROUPS.map((arbitrary) => arbitrary.map((inputs) => new Send(inputs))),
	{ maxCommands: 50, size: "max", ...(REPLAY.commands === undefined ? {} : { replayPath: REPLAY.commands }) },
);
const property = fc.property(setup, commands, ({ attended, isMember, events }, commands) => {
	const sides = new Sides(attended, isMember);
	for (const event of events) sides.send(event);
	fc.modelRun(() => ({ model: {}, real: sides }), commands);
});

test("the core takes every event and decides every request as the spec does", async () => {
	await check(property, 2_000, 250, 400);
});

test("a call of an exempt tool beside a run that is barred joins no row, which chance seldom brings", () => {
	const sides = new Sides(false, false);
	const inputs: readonly Input[] = [
		{ type: "limit_set", meter: "dayCost", max: 0 },
		{ type: "limit_set", meter: "repeats", max: 0 },
		{ type: "exempt_set", exempt: ["poll"] },
		{ type: "turn_requested" },
		{ type: "unreachable", message: "locked" },
		{ type: "settled" },
		{ type: "turn_requested" },
		{ type: "tool_call_requested", call: { tool: "poll", input: {} } },
	];
	for (const input of inputs) sides.send(input);
});

test("so do a message that is lost in the final pass, and a session that ends while its ledger is asked about", () => {
	new Send([
		{ type: "limit_set", meter: "turns", max: 1 },
		{ type: "policy_set", meter: "turns", policy: "synthesize" },
		{ type: "turn_requested" },
		{ type: "turn_ended", goesOn: true },
		{ type: "turn_requested" },
		{ type: "message_lost" },
	]).run({}, new Sides(false, false));
	new Send([
		{ type: "limit_set", meter: "dayTurns", max: 9 },
		{ type: "turn_requested" },
		{ type: "unreachable", message: "locked" },
		{ type: "shut_down" },
	]).run({}, new Sides(true, false));
});

test("in doing so every rule of the spec takes effect", async () => {
	const unseen = () => readSpec().rules.flatMap(({ name }) => (seen.has(name) ? [] : [name]));
	// With which every sequence begins.
	const first = ["SessionStarts", "MeterIsAdded"];
	// One sequence in 200 ends without the ledger.
	for (let more = 0; more < 20 && unseen().length > first.length; more++) await check(property, 250);
	assert.deepEqual(unseen(), first);
});
