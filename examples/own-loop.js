// The breaker without pi, around a loop of one's own: events in, effects out.
import { create, transition, wording } from "pi-turn-limit/core";

const limits = { turns: { max: 5, policy: "abort" }, toolCalls: { max: "unlimited", policy: "abort" } };
let state = create({ attended: false, limits, grace: 2 });

function send(event) {
	const [next, effects] = transition(state, event);
	state = next;
	return effects;
}

/** Stands for a model: it works for ever, unless it is told to wrap up and obeys. */
function model(messages, obeys) {
	return obeys && messages.some((text) => text.includes("closing report")) ? "report" : "work";
}

for (const obeys of [true, false]) {
	const messages = ["Do it."];
	send({ type: "prompted" });
	let goesOn = true;
	while (goesOn && !send({ type: "turn_requested" }).some(({ type }) => type === "abort")) {
		goesOn = model(messages, obeys) === "work";
		const effects = send({ type: "turn_ended", goesOn });
		for (const effect of effects) if (effect.type === "advise") messages.push(wording.wrapUp(effect.remaining));
	}
	const [end] = send({ type: "settled" });
	console.log(`A model that ${obeys ? "obeys" : "does not"}: ${end.outcome.kind} after ${end.outcome.turns} turns`);
}
