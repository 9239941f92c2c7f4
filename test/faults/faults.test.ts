/**
 * Everything that the extension asks of pi fails, in every way it can: the run ends, nothing is unhandled (the runner
 * would fail the test), and the next run is limited as ever.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { ExtensionAPI, ExtensionContext, ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import type { Outcome } from "../../src/core/outcome.ts";
import { turnLimit, type TurnLimitOptions } from "../../src/index.ts";
import { noop, session, type Session } from "../harness/session.ts";

/** A member of pi, of a context or of an event that throws. */
class Fault {
	readonly name: string;
	/** How often it will throw. */
	left = 0;
	/** How often it has. */
	thrown = 0;

	constructor(name: string) {
		this.name = name;
	}

	/** The same object, and what hangs on it, but for the fault. */
	in<T extends object>(whole: T): T {
		return new Proxy(whole, {
			get: (target, key) => {
				const value: unknown = Reflect.get(target, key);
				if (key === this.name && typeof value !== "function") this.#hit();
				if (key === this.name && typeof value === "function") {
					return (...args: unknown[]): unknown => {
						this.#hit();
						return Reflect.apply(value, target, args);
					};
				}
				return key === "ui" || key === "events" || key === "sessionManager" ? this.in(value as object) : value;
			},
		});
	}

	#hit(): void {
		if (this.left <= 0) return;
		this.left--;
		this.thrown++;
		throw new Error(`${this.name} is broken`);
	}
}

type Confirm = ExtensionUIContext["confirm"];

interface Played extends Session {
	/** As the program hears them that embeds pi. */
	outcomes: Outcome[];
	/** How many questions were asked. */
	asked: () => number;
}

/** A model that never ends, two turns, a wrap-up before the second, and a person. */
async function play(t: TestContext, options: TurnLimitOptions, confirm: Confirm = no, fault?: Fault): Promise<Played> {
	const outcomes: Outcome[] = [];
	let asked = 0;
	const onOutcome = (outcome: Outcome): void => {
		outcomes.push(outcome);
		options.onOutcome?.(outcome);
	};
	const limit = turnLimit({ turns: 2, grace: 1, ...options, onOutcome });
	const ui = {
		confirm: (...args: Parameters<Confirm>) => {
			asked++;
			return confirm(...args);
		},
	};
	const extension = (pi: ExtensionAPI): void => limit(fault ? broken(pi, fault) : pi);
	const played = await session(t, { extensions: [extension], reply: () => noop, ui });
	return { ...played, outcomes, asked: () => asked };
}

const no: Confirm = () => Promise.resolve(false);

function broken(pi: ExtensionAPI, fault: Fault): ExtensionAPI {
	const on = (name: string, handler: (event: object, ctx: ExtensionContext) => unknown): unknown =>
		(pi.on as (name: string, handler: unknown) => unknown)(name, (event: object, ctx: ExtensionContext) =>
			handler(fault.in(event), fault.in(ctx)),
		);
	return Object.assign(Object.create(fault.in(pi)) as ExtensionAPI, { on });
}

/** A run that nothing disturbs: two turns, one question, which is answered with no. */
async function works({ prompt, turns, asked, outcomes }: Played): Promise<void> {
	const before = { turns: turns(), asked: asked(), outcomes: outcomes.length };
	await prompt("again");
	assert.deepEqual([turns() - before.turns, asked() - before.asked], [2, 1]);
	assert.deepEqual(
		outcomes.slice(before.outcomes).map(({ kind, turns }) => [kind, turns]),
		[["declined", 2]],
	);
}

for (const [name, times, kinds] of [
	["setWidget", Infinity, ["failed"]],
	["hasUI", Infinity, ["failed"]],
	["entries", Infinity, ["failed"]],
	["hasPendingMessages", Infinity, ["declined"]],
	["abort", 1, ["declined"]],
	["notify", Infinity, ["declined"]],
	["appendEntry", Infinity, ["declined"]],
	["emit", Infinity, ["declined"]],
	["signal", Infinity, ["failed"]],
] as const) {
	test(`${name} throws: the run ends, and the next one works`, async (t) => {
		const fault = new Fault(name);
		const played = await play(t, {}, no, fault);
		fault.left = times;
		await played.prompt("go");
		assert.ok(fault.thrown > 0 && played.turns() <= 2);
		assert.deepEqual(
			played.outcomes.map(({ kind }) => kind),
			kinds,
		);
		fault.left = 0;
		await works(played);
	});
}

/** Whatever a dialog does that is not a yes. */
const DIALOGS: Record<string, Confirm> = {
	"throws at once": () => {
		throw new Error("no dialogs here");
	},
	rejects: () => Promise.reject(new Error("the client is gone")),
	"gives something that is not true": () => Promise.resolve("yes" as unknown as boolean),
	"gives nothing": () => Promise.resolve(undefined as unknown as boolean),
	"answers twice, and fails as well": () =>
		({
			then(resolve: (answer: boolean) => void, reject: (error: Error) => void) {
				resolve(false);
				resolve(true);
				reject(new Error("and now this"));
			},
		}) as Promise<boolean>,
};

for (const [does, confirm] of Object.entries(DIALOGS)) {
	test(`the dialog ${does}: the run is stopped, and the next one works`, async (t) => {
		let isBroken = true;
		const played = await play(t, {}, (...args) => (isBroken ? confirm(...args) : no(...args)));
		await played.prompt("go");
		assert.deepEqual([played.turns(), played.asked(), played.outcomes[0]?.kind], [2, 1, "declined"]);
		isBroken = false;
		await works(played);
	});
}

for (const [how, isDeaf] of [
	["until it is closed", false],
	["and is deaf to its signal", true],
] as const) {
	test(`the dialog hangs ${how}: the user can abort the run, and a late yes changes nothing`, async (t) => {
		const { confirm, opened, answer } = hanging(isDeaf);
		let isBroken = true;
		const played = await play(t, {}, (...args) => (isBroken ? confirm(...args) : no(...args)));
		const run = played.prompt("go");
		await opened;
		await played.session.abort();
		await run;
		assert.deepEqual([played.turns(), played.outcomes[0]?.kind], [2, "interrupted"]);
		answer(true);
		await setImmediate();
		assert.equal(played.turns(), 2);
		isBroken = false;
		await works(played);
	});
}

test("a command answers the question, and then the dialog does too: the first answer counts", async (t) => {
	const { confirm, opened, answer } = hanging(true);
	let isBroken = true;
	const played = await play(t, {}, (...args) => (isBroken ? confirm(...args) : no(...args)));
	const run = played.prompt("go");
	await opened;
	isBroken = false;
	await played.session.prompt("/turn-limit +1");
	answer(false);
	await run;
	assert.deepEqual([played.turns(), played.asked()], [3, 2]);
	await works(played);
});

/** A dialog that stays open until the test answers it, or its signal closes it. */
function hanging(isDeaf: boolean): { confirm: Confirm; opened: Promise<void>; answer: (yes: boolean) => void } {
	let open = (): void => {};
	let answer: (yes: boolean) => void = () => {};
	const opened = new Promise<void>((resolve) => (open = resolve));
	const answered = new Promise<boolean>((resolve) => (answer = resolve));
	const confirm: Confirm = (_title, _message, options) => {
		open();
		if (!isDeaf) options?.signal?.addEventListener("abort", () => answer(false));
		return answered;
	};
	return { confirm, opened, answer };
}

/** What a program that embeds pi supplies. */
const throws = (): never => {
	throw new Error("not today");
};

for (const [what, options] of [
	["onOutcome", { onOutcome: throws }],
	["the grace function", { grace: throws }],
	["the wrap-up message function", { wrapUpMessage: throws }],
] as [string, TurnLimitOptions][]) {
	test(`${what} throws: the run ends at its limit, and so does the next one`, async (t) => {
		const played = await play(t, options);
		await works(played);
		await works(played);
	});
}
