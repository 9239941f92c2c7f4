/** The settings in force: what a place, a command, the root of a tree and a fleet's budget set. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { Context, Pi } from "../../src/hosts/pi/host/api.ts";
import { SessionSettings, type Surroundings } from "../../src/hosts/pi/settings/session-settings.ts";
import { processMemory } from "../../src/hosts/pi/host/process.ts";
import type { Budget } from "../../src/settings/budget.ts";
import type { Values } from "../../src/settings/places.ts";
import type { Place } from "../../src/settings/resolve.ts";
import type { Key } from "../../src/settings/settings.ts";
import { SessionManager } from "../harness/pi.ts";
import { NO_PERIODS } from "../settings/given.ts";

/** A place that says its strength as its name. */
const place = (strength: Place["strength"], values: Values): Place => ({ values, name: () => strength, strength });

/** The settings of a session among such places. */
class Kept {
	readonly session = SessionManager.inMemory();
	readonly context = { sessionManager: this.session } as unknown as Context;
	readonly settings: SessionSettings;

	constructor(t: TestContext, around: Partial<Surroundings> = {}) {
		t.after(() => processMemory.commands.clear());
		const pi = { appendEntry: (name, data) => void this.session.appendCustomEntry(name, data) } as Pick<
			Pi,
			"appendEntry"
		>;
		const surroundings = (): Surroundings => ({ places: [], problems: [], ...around });
		this.settings = new SessionSettings(pi, { rank: "installed", places: [], surroundings });
	}

	/** As an earlier process has left it. */
	remember(values: Values): this {
		this.session.appendCustomEntry("turn-limit", { version: 1, values });
		return this;
	}

	load(attended: boolean, root?: { limits: Values; overruled: Values }): readonly string[] {
		return this.settings.load(this.context, attended, root);
	}

	/** The value of a setting and its place. */
	of(key: Key): string {
		const { value, source } = this.settings.current[key];
		return `${String(value)} (${source})`;
	}
}

describe("what an earlier process has set", () => {
	for (const strength of ["flag", "start", "file"] as const) {
		test(`lowers in a script what a ${strength} sets, and raises nothing`, (t) => {
			const places = [place(strength, { maxTurns: 4, maxToolCalls: 4 })];
			const kept = new Kept(t, { places }).remember({ maxTurns: 3, maxToolCalls: 5 });
			assert.deepEqual(kept.load(false), [
				`An earlier /turn-limit of this session can only lower a limit; ignoring maxToolCalls: 5. Using 4 (${strength}).`,
			]);
			assert.deepEqual([kept.of("maxTurns"), kept.of("maxToolCalls")], ["3 (/turn-limit)", `4 (${strength})`]);
		});
	}

	test("gives way in a script to what is set now", (t) => {
		const kept = new Kept(t).remember({ maxTurns: 3 });
		kept.load(false);
		kept.settings.set("maxTurns", 9, kept.context);
		assert.deepEqual([kept.of("maxTurns"), kept.of("maxRepeats")], ["9 (/turn-limit)", "10 (default)"]);
	});

	test("stands with a person between flags and the other places", (t) => {
		const values = { maxTurns: 4, maxToolCalls: 4, grace: 4 };
		const places = [place("flag", { maxTurns: 2 }), place("start", values), place("file", { grace: 5 })];
		const kept = new Kept(t, { places }).remember({ maxTurns: 3, maxToolCalls: 3 });
		assert.deepEqual(kept.load(true), []);
		const shown = (["maxTurns", "maxToolCalls", "grace"] as const).map((key) => kept.of(key));
		assert.deepEqual(shown, ["2 (flag)", "3 (/turn-limit)", "4 (start)"]);
	});

	test("stands in for a flag that is bad, which is told once", (t) => {
		const kept = new Kept(t, { places: [place("flag", { maxTurns: -1 })] }).remember({ maxTurns: 3 });
		assert.deepEqual(kept.load(true), [
			"flag: expected a whole number from 0, or unlimited, got -1. Using 3 (/turn-limit).",
		]);
	});

	test("is told where it is looser and where it is damaged, also when the person goes back in the session", (t) => {
		const project = { ...place("file", { maxTurns: 30 }), who: "A project file", lowers: [] };
		const kept = new Kept(t, { problems: [{ what: "A problem." }], project })
			.remember({ maxTurns: 40 })
			.remember({ grace: -1 });
		const damaged = "Ignoring 1 damaged or foreign turn-limit entry of this session.";
		const looser =
			"Turn limit: 40, set by an earlier /turn-limit of this session; without it 25 (default). /turn-limit default goes back to that.";
		const refused = "A project file can only lower a limit; ignoring maxTurns: 30. Using 25 (default).";
		assert.deepEqual(kept.load(true), ["A problem.", damaged, looser]);
		assert.deepEqual(kept.settings.recall(kept.context), [damaged, looser]);
		kept.settings.reset(kept.context);
		assert.deepEqual(kept.load(true), ["A problem.", damaged, refused]);
		assert.deepEqual(kept.settings.recall(kept.context), [damaged]);
		assert.deepEqual(kept.settings.commanded, {});
	});
});

describe("what is set in this process", () => {
	test("is known again by its entry, whatever else the session holds", (t) => {
		const kept = new Kept(t, { places: [place("flag", { maxTurns: 4, maxToolCalls: 4 })] });
		kept.load(true);
		kept.settings.set("maxTurns", 8, kept.context);
		kept.settings.set("maxToolCalls", 9, kept.context);
		kept.session.appendCustomEntry("other", { version: 1, values: { maxTurns: 50 } });
		kept.session.appendCustomMessageEntry("turn-limit", "words", true);
		assert.deepEqual(kept.settings.recall(kept.context), []);
		assert.deepEqual([kept.of("maxTurns"), kept.of("maxToolCalls")], ["8 (/turn-limit)", "9 (/turn-limit)"]);
		kept.session.branch(kept.session.getEntries()[0]?.id ?? "");
		kept.settings.recall(kept.context);
		assert.deepEqual([kept.of("maxTurns"), kept.of("maxToolCalls")], ["8 (/turn-limit)", "4 (flag)"]);
	});

	test("counts as set by an earlier one where somebody has changed its entry", (t) => {
		const kept = new Kept(t, { places: [place("flag", { maxTurns: 4 })] });
		kept.load(true);
		kept.settings.set("maxTurns", 8, kept.context);
		Object.assign(kept.session.getEntries()[0] ?? {}, { data: { version: 1, values: { maxTurns: 50 } } });
		kept.settings.recall(kept.context);
		assert.equal(kept.of("maxTurns"), "4 (flag)");
	});

	test("overrules the limit of the other places, which the agents of the tree learn", (t) => {
		const kept = new Kept(t, { places: [place("start", { "tree.maxTurns": 5 })] });
		kept.load(true);
		assert.equal(kept.settings.overruled("treeTurns"), "unlimited");
		kept.settings.set("tree.maxTurns", 8, kept.context);
		assert.equal(kept.settings.overruled("treeTurns"), 5);
		assert.equal(kept.settings.overruled("treeCost"), "unlimited");
		assert.deepEqual(
			[kept.settings.sourceOf("treeTurns"), kept.settings.sourceOf("turns")],
			["/turn-limit", "default"],
		);
	});
});

describe("the root's limits", () => {
	const root = { limits: { "tree.maxTurns": 7, "tree.maxCost": 2, "budget.maxTurns": 3 }, overruled: {} };

	test("count where they are lower, and as long as nobody gives others", (t) => {
		const kept = new Kept(t, { places: [place("start", { "tree.maxTurns": 9, "tree.maxCost": 1 })] });
		kept.load(false, root);
		for (const attended of [false, true]) {
			assert.deepEqual([kept.of("tree.maxTurns"), kept.of("tree.maxCost")], ["7 (the root)", "1000000 (start)"]);
			kept.load(attended);
		}
		assert.equal(kept.of("budget.maxTurns"), "unlimited (default)");
	});

	test("count where a command of the root has overruled the one that is read here, and not a command's", (t) => {
		const raised = { limits: { "tree.maxTurns": 7 }, overruled: { "tree.maxTurns": 5 } };
		const kept = new Kept(t, { places: [place("start", { "tree.maxTurns": 5 })] });
		kept.load(true, raised);
		assert.equal(kept.of("tree.maxTurns"), "7 (the root)");
		kept.settings.set("tree.maxTurns", 5, kept.context);
		assert.equal(kept.of("tree.maxTurns"), "5 (/turn-limit)");
	});
});

describe("a fleet's budget", () => {
	const periods = { ...NO_PERIODS, day: { turns: 5 } };
	const budget: Budget = { at: () => "", account: "team", caps: { turns: 9 }, periods, zone: "UTC" };

	test("sets the limits of the budget, and no other", (t) => {
		const kept = new Kept(t, { budget: { kind: "budget", budget } });
		kept.load(true);
		assert.deepEqual(
			[kept.of("budget.maxTurns"), kept.of("budget.maxCost"), kept.of("tree.maxTurns"), kept.of("maxTurns")],
			["5 (budget team)", "unlimited (budget team)", "unlimited (default)", "25 (default)"],
		);
		assert.deepEqual([kept.settings.budget, kept.settings.unableReason], [budget, undefined]);
	});

	test("that cannot be used says why", (t) => {
		const kept = new Kept(t, { budget: { kind: "unusable", why: ["One.", "Two."] } });
		kept.load(true);
		assert.deepEqual([kept.settings.budget, kept.settings.unableReason], [undefined, "One. Two."]);
		assert.equal(kept.of("budget.maxTurns"), "unlimited (default)");
	});

	test("of a program holds before a session has started", () => {
		const pi = { appendEntry: () => {} };
		const places = [place("start", { maxTurns: 4 })];
		const settings = new SessionSettings(pi, { rank: "program", places, budget: { kind: "budget", budget } });
		assert.deepEqual([settings.current.maxTurns.value, settings.current.maxRepeats.value], [4, "unlimited"]);
		assert.deepEqual([settings.budget, settings.current.grace.value], [budget, 2]);
		settings.attend(true);
		assert.deepEqual([settings.current["budget.maxTurns"].value, settings.current.grace.value], [5, 0]);
	});
});
