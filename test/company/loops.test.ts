/**
 * Beside extensions that start pi again by themselves until a goal is reached. The three here behave as three published ones
 * do; docs/comparison-pi.md has what was measured with those.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bash, calls, host, type Reply, type Request, text } from "../harness/index.ts";
import { loopsByTool, pursuesGoal, resumesResearch } from "./extensions.ts";

/** Works one step when it is prompted, says `next` to the tool if there is one, and then answers. */
function model({ body }: Request, n: number): Reply {
	const { messages } = body as { messages: { role: string; tool_calls?: { function: { name: string } }[] }[] };
	if (messages.at(-1)?.role === "user") return calls(bash(`echo ${n} >> marks`));
	const last = messages.findLast(({ role }) => role === "assistant")?.tool_calls?.[0]?.function.name;
	const hasTool = (body.tools ?? []).some((tool) => tool.function.name === "next");
	return hasTool && last === "bash" ? calls({ name: "next", args: {} }) : text("One step is done.");
}

const LIMIT = 6;
const env = { PI_MAX_TURNS: String(LIMIT), PI_TURN_LIMIT_GRACE: "0" };
const refused = "Turn limit reached; a run was refused. Send a message to go on.";

describe("a person prompts once, and an extension starts the rest", () => {
	const loops = {
		"a tool that queues the next prompt": { extension: loopsByTool, last: "Agent aborted by user." },
		"a goal that is pursued after every run": { extension: pursuesGoal, last: "goal paused" },
		"research that is resumed after every run": { extension: resumesResearch, last: refused },
	};

	for (const [name, { extension, last }] of Object.entries(loops)) {
		for (const yes of [0, 1]) {
			test(`${name}: ${LIMIT * (yes + 1)} turns, and one question after every ${LIMIT}`, async (t) => {
				const pi = await host(t, { model, env, after: [extension] });
				const rpc = await pi.rpc({ answer: (_question, n) => n <= yes });
				await rpc.prompt("Reach the goal.");
				for (const words of ["Agent aborted by user. Turn limit reached.", last])
					await rpc.until(words, () => rpc.notifications.find(({ message }) => message.includes(words)));
				assert.equal(pi.model.requests.length, LIMIT * (yes + 1));
				assert.equal(rpc.questions.length, yes + 1);
			});
		}
	}
});

test("a script whose tool queues prompt after prompt gets its turns and ends with 53", async (t) => {
	const pi = await host(t, { model, env, after: [loopsByTool] });
	const { code, stderr } = await pi.print("Reach the goal.");
	assert.equal(pi.model.requests.length, LIMIT);
	assert.equal(code, 53);
	assert.match(stderr, /^pi-turn-limit: stopped at the limit of 6 turns .*\n$/);
});
