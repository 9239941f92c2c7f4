import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { type Call, calls, host } from "../harness/index.ts";

/** Tools beside pi's own: one whose telling argument comes last, one that declares nothing we know, one without text. */
function tools(pi: ExtensionAPI): void {
	const text = { type: "string" };
	// Schemas that pi takes although they are none; servers written in Go send null for an empty list.
	const odd = {
		"required-null": { type: "object", properties: { command: { type: "string" } }, required: null },
		"properties-null": { type: "object", properties: null, required: null },
		"no-properties": { type: "object" },
	};
	const tool = (name: string, properties: object, required: string[]): void =>
		pi.registerTool({
			...{ name, label: name, description: name },
			parameters: { type: "object", properties, required, additionalProperties: true },
			execute: () => Promise.resolve({ content: [], details: undefined }),
		});
	tool("deploy", { note: text, region: text, url: text }, []);
	tool("paint", { shade: text, colour: text, size: { type: "number" } }, ["colour"]);
	for (const [name, parameters] of Object.entries(odd))
		pi.registerTool({
			...{ name, label: name, description: name },
			parameters: parameters as never,
			execute: () => Promise.resolve({ content: [], details: undefined }),
		});
	tool("wait", { seconds: { type: "number" } }, ["seconds"]);
}

const shown: [does: string, call: Call, text: string][] = [
	[
		"the command, whatever stands before it",
		{ name: "bash", args: { timeout: 5, command: "rm -rf build" } },
		"bash rm -rf build",
	],
	[
		"the command, not a key of the model's own",
		{ name: "bash", args: { aaa: "ls", description: "Lists files", command: "rm -rf build" } },
		"bash rm -rf build",
	],
	[
		"the path of a file that is written, not its content",
		{ name: "write", args: { content: "harmless", path: "out/a.txt" } },
		"write out/a.txt",
	],
	[
		"a telling argument that is declared last",
		{ name: "deploy", args: { note: "test", url: "https://prod" } },
		"deploy https://prod",
	],
	["a required argument where none is telling", { name: "paint", args: { shade: "dark", colour: "red" } }, "paint red"],
	["nothing that is undeclared", { name: "wait", args: { seconds: 3, command: "ls", path: "x" } }, "wait"],
	["the argument of a tool that requires null", { name: "required-null", args: { command: "ls" } }, "required-null ls"],
	["the name of a tool that declares nothing", { name: "no-properties", args: { command: "ls" } }, "no-properties"],
	["the name of a tool that declares null", { name: "properties-null", args: { command: "ls" } }, "properties-null"],
	[
		"one line without escape sequences",
		{ name: "bash", args: { command: "true;\n\u001b[2J\u202eevil" } },
		"bash true; [2J evil",
	],
];

test("the question shows of the call that waits", async (t) => {
	let call: Call = { name: "bash", args: {} };
	const pi = await host(t, { model: () => calls(call), env: { PI_TURN_LIMIT_TOOLS: "0" }, after: [tools] });
	const rpc = await pi.rpc();
	for (const [does, asked, text] of shown) {
		await t.test(does, async () => {
			call = asked;
			await rpc.prompt("go");
			const question = await rpc.question();
			assert.match(question.message ?? "", new RegExp(`\\. Waiting: ${text.replace(/[[\]().]/g, "\\$&")}\n`));
			question.no();
			await rpc.settled();
		});
	}
});
