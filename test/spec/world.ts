/**
 * Everything around a breaker that acts by itself: a person, a model, another extension. They act by a script, which is
 * read wherever something can happen. So the same script means the same for a real pi and for the loop around the spec.
 */
import {
	type AmountId,
	type Call,
	isShared,
	kindOf,
	type Max,
	METER_IDS,
	type MeterId,
} from "../../src/core/meters.ts";
import type { Answer } from "../../src/core/answers.ts";
import type { Event } from "../../src/core/protocol.ts";
import type { Input } from "./sides.ts";

/** Something that can be done from outside at any moment. */
export type Act =
	| { readonly type: "abort" }
	/** A person types into the run. */
	| { readonly type: "steer" }
	/** `/turn-limit …`, and its meaning. */
	| { readonly type: "command"; readonly text: string; readonly events: readonly Event[] };

/** Somebody starts a run. */
export interface Prompt {
	readonly type: "prompt";
	readonly by: "person" | "extension";
}

/** Amounts that a call spends. */
export type Amounts = Readonly<Partial<Record<AmountId, number>>>;

/** A call of the model; its arguments say what it spends. */
export interface Work {
	readonly name: string;
	readonly args: { readonly path: string; readonly spends: Amounts };
}

/** The model's reply: its calls, and whether it has text. */
export type Reply =
	| { readonly type: "failure" }
	| { readonly type: "aborted" }
	| { readonly type: "message"; readonly calls: readonly Work[]; readonly hasText: boolean };

export class World {
	readonly #script: Input[];
	/** An extension starts one run at most between two prompts, because the breaker pauses before it refuses a second. */
	#isWoken = false;

	/** Where nobody can be asked, time that runs out cuts off what is under way, whenever that is: no script says so. */
	constructor(attended: boolean, script: readonly Input[]) {
		const isTime = (input: Input): boolean => input.type === "charged" && "time" in input.amounts;
		this.#script = script.filter((input) => attended || !isTime(input));
	}

	/** Between runs: somebody starts one or does something else; nothing if the script is over. */
	idle(): Act | Prompt | undefined {
		for (let event = this.#script.shift(); event !== undefined; event = this.#script.shift()) {
			if (event.type === "prompted") return this.#prompt("person");
			if (event.type === "turn_requested" && !this.#isWoken) return this.#prompt("extension");
			const act = actOf(event);
			if (act?.type === "command") return act;
		}
		return undefined;
	}

	#prompt(by: "person" | "extension"): Prompt {
		this.#isWoken = by === "extension";
		return { type: "prompt", by };
	}

	/** Somewhere in a run: at most one act. */
	moment(): Act | undefined {
		const act = actOf(this.#script[0]);
		if (act !== undefined) this.#script.shift();
		return act;
	}

	/** The model is asked: the acts meanwhile, and its reply. A script that is over lets the run end. */
	request(): { readonly acts: readonly Act[]; readonly reply: Reply } {
		const acts: Act[] = [];
		const calls: Work[] = [];
		for (let event = this.#script.shift(); event !== undefined; event = this.#script.shift()) {
			const act: Act | undefined = event.type === "prompted" ? { type: "steer" } : actOf(event);
			if (act?.type === "abort") return { acts, reply: { type: "aborted" } };
			if (act !== undefined) acts.push(act);
			if (event.type === "turn_failed") return { acts, reply: { type: "failure" } };
			if (event.type === "tool_call_requested") calls.push(work(event.call));
			if (event.type === "charged") calls.push(spending(calls.pop() ?? work(), event.amounts));
			if (event.type === "turn_ended") {
				const made = calls.length > 0 ? calls : [work()];
				return { acts, reply: { type: "message", calls: event.goesOn ? made : [], hasText: event.concluded === true } };
			}
		}
		return { acts, reply: { type: "message", calls: [], hasText: true } };
	}

	/** A question is open: an act, or the answer. A confirm takes yes and no only. */
	question(): Act | { readonly type: "answer"; readonly answer: Answer } {
		for (let event = this.#script.shift(); event !== undefined; event = this.#script.shift()) {
			if (event.type === "answered")
				return { type: "answer", answer: event.answer === "wrap_up" || event.answer === "stop" ? "no" : event.answer };
			const act = actOf(event);
			if (act !== undefined) return act;
		}
		return { type: "answer", answer: "no" };
	}
}

function work({ tool, input }: Partial<Call> = {}): Work {
	const { path = "a" } = (input ?? {}) as { path?: string };
	return { name: tool ?? "work", args: { path, spends: {} } };
}

/** The call spends this as well. */
function spending({ name, args }: Work, amounts: Amounts): Work {
	const ids = Object.keys({ ...args.spends, ...amounts }) as AmountId[];
	const sum = ids.map((id) => [id, (args.spends[id] ?? 0) + (amounts[id] ?? 0)]);
	return { name, args: { ...args, spends: Object.fromEntries(sum) as Amounts } };
}

function actOf(event: Input | undefined): Act | undefined {
	switch (event?.type) {
		case "interrupted":
			return { type: "abort" };
		case "limit_set":
			// While a run is under way a tree keeps the limits that it began with.
			if (isShared(event.meter)) return undefined;
			return command(`${kindOf(event.meter).word} ${written(event.meter, event.max)}`, event);
		case "limit_raised":
			return command(`${kindOf(event.meter).word} +${written(event.meter, event.by)}`, event);
		case "policy_set":
			return command(`policy ${event.policy}`, ...METER_IDS.map((meter) => ({ ...event, meter })));
		case "grace_set":
			return command(`grace ${event.grace}`, event);
		case "wrap_up_requested":
			return command("wrap-up", event);
		default:
			return undefined;
	}
}

/** As a person types it. */
function written(id: MeterId, max: Max): string {
	return max === "unlimited" ? max : String(kindOf(id).unit.write(max));
}

function command(text: string, ...events: Event[]): Act {
	return { type: "command", text: `/turn-limit ${text.trim()}`, events };
}
