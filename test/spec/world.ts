/**
 * Everything around a breaker that acts of its own accord: a person, a model, another extension. They act by a script of
 * events, which is asked wherever something can happen. So the same script means the same for a real pi and for the
 * loop that the spec is stepped by.
 */
import type { Answer, Event } from "../../src/core/state.ts";

/** What can be done from outside at any moment. */
export type Act =
	| { readonly type: "abort" }
	/** A person types into the run. */
	| { readonly type: "steer" }
	/** `/turn-limit …`, and what it means. */
	| { readonly type: "command"; readonly text: string; readonly events: readonly Event[] };

/** What the model replies. */
export type Reply =
	{ readonly type: "failure" } | { readonly type: "aborted" } | { readonly type: "message"; readonly calls: number };

export class World {
	readonly #script: Event[];

	constructor(script: readonly Event[]) {
		this.#script = [...script];
	}

	/** Between runs: who starts one, or what is done first; nothing if the script is over. */
	idle(): Act | { readonly type: "prompt"; readonly by: "person" | "extension" } | undefined {
		for (let event = this.#script.shift(); event !== undefined; event = this.#script.shift()) {
			if (event.type === "prompted") return { type: "prompt", by: "person" };
			if (event.type === "turn_requested") return { type: "prompt", by: "extension" };
			const act = actOf(event);
			if (act?.type === "command") return act;
		}
		return undefined;
	}

	/** Somewhere in a run: at most one act. */
	moment(): Act | undefined {
		const act = actOf(this.#script[0]);
		if (act !== undefined) this.#script.shift();
		return act;
	}

	/** The model is asked: what happens meanwhile, and its reply. A script that is over lets the run end. */
	request(): { readonly acts: readonly Act[]; readonly reply: Reply } {
		const acts: Act[] = [];
		let calls = 0;
		for (let event = this.#script.shift(); event !== undefined; event = this.#script.shift()) {
			const act: Act | undefined = event.type === "prompted" ? { type: "steer" } : actOf(event);
			if (act?.type === "abort") return { acts, reply: { type: "aborted" } };
			if (act !== undefined) acts.push(act);
			if (event.type === "turn_failed") return { acts, reply: { type: "failure" } };
			if (event.type === "tool_call_requested") calls++;
			if (event.type === "turn_ended") {
				return { acts, reply: { type: "message", calls: event.goesOn ? Math.max(1, calls) : 0 } };
			}
		}
		return { acts, reply: { type: "message", calls: 0 } };
	}

	/** A question is open: what is done, or the answer. */
	question(): Act | { readonly type: "answer"; readonly answer: Answer } {
		for (let event = this.#script.shift(); event !== undefined; event = this.#script.shift()) {
			if (event.type === "answered") return { type: "answer", answer: event.answer };
			const act = actOf(event);
			if (act !== undefined) return act;
		}
		return { type: "answer", answer: "no" };
	}
}

function actOf(event: Event | undefined): Act | undefined {
	switch (event?.type) {
		case "interrupted":
			return { type: "abort" };
		case "limit_set":
			return command(event.meter === "turns" ? `${event.max}` : `tools ${event.max}`, event);
		case "limit_raised":
			return command(event.meter === "turns" ? `+${event.by}` : `tools +${event.by}`, event);
		case "policy_set":
			return command(`policy ${event.policy}`, { ...event, meter: "turns" }, { ...event, meter: "toolCalls" });
		case "grace_set":
			return command(`grace ${event.grace}`, event);
		case "wrap_up_requested":
			return command("wrap-up", event);
		default:
			return undefined;
	}
}

function command(text: string, ...events: Event[]): Act {
	return { type: "command", text: `/turn-limit ${text}`, events };
}
