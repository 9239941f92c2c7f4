import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { generateText, isStepCount, jsonSchema, tool } from "ai";
import { aiLimit } from "../../src/hosts/ai/index.ts";
import { calls, text } from "../harness/model.ts";
import { aiModel, ScriptedModel, type Script } from "./model.ts";

/** Works for ever; answers once it is told that its budget is short or spent. */
const obeying: Script = (n, texts) =>
	texts.some((heard) => /left in this run|is spent/.test(heard))
		? text("report")
		: calls({ name: "noop", args: { n } });

const SCENES: Record<string, { max: number; script: Script; policy?: "synthesize"; grace?: number }> = {
	"5 steps, a model that reports if told": { max: 5, script: obeying },
	"5 steps, one last answer": { max: 5, script: obeying, policy: "synthesize", grace: 0 },
	"5 steps, done on the fifth": {
		max: 5,
		grace: 0,
		script: (n) => (n < 5 ? calls({ name: "noop", args: { n } }) : text("report")),
	},
	"0 steps": { max: 0, script: (n) => (n < 9 ? calls({ name: "noop", args: { n } }) : text("report")) },
};

/** `requests, answer, how it is told`, with the SDK's own condition and with ours. */
async function row({ max, script, ...rest }: (typeof SCENES)[string]): Promise<[string, string]> {
	const noop = tool({ inputSchema: jsonSchema<object>({ type: "object" }), execute: () => "ok" });
	const call = (model: ScriptedModel) => ({ model: aiModel(model), prompt: "go", tools: { noop }, maxRetries: 0 });
	const theirs = new ScriptedModel(script);
	const result = await generateText({ ...call(theirs), stopWhen: isStepCount(max) });
	const ours = new ScriptedModel(script);
	const limit = aiLimit({ turns: max, ...rest });
	const made = await limit.generateText(call(ours)).catch((error: unknown) => error as { outcome: { kind: string } });
	const kind = "outcome" in made ? made.outcome.kind : (await limit.outcomeOf(made)).kind;
	const shown = (requests: number, answer: string, told: string): string =>
		`${requests}, ${answer === "" ? "no answer" : "answer"}, \`${told}\``;
	return [
		shown(theirs.requests.length, result.text, result.finishReason),
		shown(ours.requests.length, "text" in made ? made.text : "", kind),
	];
}

test("the table beside the AI SDK's own stopWhen is what is measured", async () => {
	const page = readFileSync(new URL("../../docs/comparison.md", import.meta.url), "utf8");
	for (const [name, scene] of Object.entries(SCENES)) {
		const cells = [name, ...(await row(scene))];
		const found = page.split("\n").find((line) => line.startsWith(`| ${name} `)) ?? "";
		assert.deepEqual(
			found
				.split("|")
				.slice(1, -1)
				.map((cell) => cell.trim()),
			cells,
		);
	}
});
