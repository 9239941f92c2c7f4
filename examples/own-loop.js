// A loop of one's own under a limit of 5 turns, with a model that works for ever, unless it is told to wrap up and obeys.
import { loopLimit } from "pi-turn-limit/loop";

const limit = loopLimit({ turns: 5, grace: 2 });
const model = (notes, obeys) => (obeys && notes.length > 0 ? [] : [{ tool: "look", input: {} }]);

for (const obeys of [true, false]) {
	const run = limit.start();
	for (let notes; (notes = await run.turn()) !== undefined;) {
		const calls = model(notes, obeys);
		for (const call of calls) await run.call(call); // a text in place of the tool's result, if it must not run
		if ((await run.endTurn({ goesOn: calls.length > 0 })) === "stop") break;
	}
	const { kind, turns } = await run.settle();
	console.log(`A model that ${obeys ? "obeys" : "does not"}: ${kind} after ${turns} turns`);
}
