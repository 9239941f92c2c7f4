/** The core does what the spec says: thousands of sequences of events, each of which both have to take alike. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Event } from "../../src/core/state.ts";
import { check, REPLAY } from "./check.ts";
import { setup, weighted } from "./events.ts";
import { readSpec } from "./reader.ts";
import { Sides } from "./sides.ts";

/** Rules that took effect. */
const seen = new Set<string>();

class Send implements fc.Command<object, Sides> {
	readonly event: Event;

	constructor(event: Event) {
		this.event = event;
	}

	/** Whatever comes at whatever moment: what has no place must change nothing. */
	check(): boolean {
		return true;
	}

	run(_model: object, sides: Sides): void {
		for (const rule of sides.send(this.event).rules) seen.add(rule);
	}

	toString(): string {
		return JSON.stringify(this.event);
	}
}

test("the core takes every event as the spec does", async () => {
	const commands = fc.commands(
		weighted.map((arbitrary) => arbitrary.map((event) => new Send(event))),
		{ maxCommands: 50, size: "max", ...(REPLAY.commands === undefined ? {} : { replayPath: REPLAY.commands }) },
	);
	const property = fc.property(setup, commands, ({ attended, events }, commands) => {
		const sides = new Sides(attended);
		for (const event of events) sides.send(event);
		fc.modelRun(() => ({ model: {}, real: sides }), commands);
	});
	await check(property, 10_000);
});

test("in doing so every rule of the spec takes effect", () => {
	const unseen = readSpec().rules.flatMap(({ name }) => (seen.has(name) ? [] : [name]));
	assert.deepEqual(unseen, ["SessionStarts"], "with which every sequence begins");
});
