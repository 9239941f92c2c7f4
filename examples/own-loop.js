// The breaker without pi, around a loop of one's own: events and requests in, decisions and effects out.
import { create, decide, METER_IDS, transition } from "pi-turn-limit/core";

const unlimited = METER_IDS.map((id) => [id, { max: "unlimited", policy: "abort" }]);
const limits = { ...Object.fromEntries(unlimited), turns: { max: 5, policy: "abort" } };
let state = create({ attended: false, limits, grace: 2 });

function send(event) {
	const [next, effects] = transition(state, event);
	state = next;
	return effects;
}

/** True only if the gate says so. */
function isAdmitted(request) {
	const [next, decision] = decide(state, request);
	state = next;
	return decision === "admit";
}

/** Stands for a model: it works for ever, unless it is told to wrap up and obeys. */
function model(messages, obeys) {
	return obeys && messages.includes("Wrap up.") ? "report" : "work";
}

for (const obeys of [true, false]) {
	const messages = ["Do it."];
	send({ type: "prompted" });
	let goesOn = true;
	while (goesOn && isAdmitted({ type: "turn_requested" })) {
		goesOn = model(messages, obeys) === "work";
		const effects = send({ type: "turn_ended", goesOn });
		if (effects.some(({ type }) => type === "advise")) messages.push("Wrap up.");
	}
	const [end] = send({ type: "settled" });
	console.log(`A model that ${obeys ? "obeys" : "does not"}: ${end.outcome.kind} after ${end.outcome.turns} turns`);
}
