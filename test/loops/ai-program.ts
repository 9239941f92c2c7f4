/**
 * A program on the AI SDK, as a process of its own: `node ai-program.ts '{"dayTurns":5}' [hangs]`. Its model never stops by
 * itself. Prints `ready` if it hangs in that step, else how many requests it has made and how it ended.
 */
import { jsonSchema, tool } from "ai";
import { aiLimit, type AiOptions } from "../../src/hosts/ai/index.ts";
import { calls } from "../harness/model.ts";
import { aiModel, ScriptedModel } from "./model.ts";

const [options = "{}", hangs] = process.argv.slice(2);
const limit = aiLimit(JSON.parse(options) as AiOptions);
const model = new ScriptedModel(async (n) => {
	if (n === Number(hangs)) {
		console.log("ready");
		await new Promise((never) => setInterval(never, 2 ** 30));
	}
	return calls({ name: "noop", args: { n } });
});
const noop = tool({ inputSchema: jsonSchema<object>({ type: "object" }), execute: () => "ok" });
const ended = await limit
	.generateText({ model: aiModel(model), prompt: "go", tools: { noop }, maxRetries: 0 })
	.then((result) => limit.outcomeOf(result))
	.catch((error: unknown) => (error as { outcome: { kind: string } }).outcome);
console.log(`${model.requests.length} ${ended.kind} ${"meter" in ended ? ended.meter : ""}`.trim());
