import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const root = resolve(import.meta.dirname, "../..");
const src: Record<string, string> = { loop: "src/hosts/loop", ai: "src/hosts/ai", "pi-agent": "src/hosts/pi-agent" };

/** What the first program of a page prints, with what it leaves to the reader before it and after it. */
async function printed(page: string, before: string, after = ""): Promise<string> {
	const program = /^```js\n(.*?)^```$/ms.exec(readFileSync(join(root, `docs/${page}.md`), "utf8"))?.[1] ?? "";
	const found = program.replace(/"pi-turn-limit\/([\w-]+)"/g, (_, name: string) =>
		JSON.stringify(join(root, src[name]!, "index.ts")),
	);
	const args = ["--input-type=module", "-e", `${before}\n${found}\n${after}`];
	return (await promisify(execFile)(process.execPath, args, { cwd: root })).stdout;
}

/** Examples hold a model and a tool each; a page's program stands in the place of theirs. */
function stageOf(example: string): string {
	const [stage = ""] = readFileSync(join(root, `examples/${example}.js`), "utf8").split("\nconst limit =");
	return stage.replaceAll(/^import .*"pi-turn-limit.*$/gm, "");
}

test("the program for a loop of one's own runs", async () => {
	const stage = `
		const messages = [];
		const model = async (_, notes) =>
			notes.some((note) => note.includes("is spent")) ? { usage: {}, calls: [] } : { usage: { tokens: 5, cost: 0.1 }, calls: [{ id: "1", tool: "x", input: {} }] };
		const answer = async () => {};`;
	assert.equal(await printed("loops", stage, "console.log(kind, turns);"), "synthesized 6\n");
});

test("the program for the AI SDK runs", async () => {
	const out = await printed("ai-sdk", `${stageOf("ai-sdk")}\nconst tools = { look };`);
	assert.match(out, /kind: 'synthesized'[^]*Three things\. \(synthesized after 11 turns\)\n$/);
});

test("the program for pi's bare Agent runs", async () => {
	const stage = stageOf("pi-agent")
		.replace(/^import \{ Agent \}.*$/m, "")
		.replace(/^const agent = .*$/ms, "");
	const out = await printed(
		"pi-agent",
		`${stage}\nconst tools = [look], model = { id: "m", api: "a", provider: "p" };`,
	);
	assert.equal(out, "synthesized 10\n");
});
