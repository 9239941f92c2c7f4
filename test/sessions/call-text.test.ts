import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { callText, type Tool } from "../../src/hosts/pi/ui/call-text.ts";

const text = { type: "string" };

/** A tool with these arguments, of which some are required. */
function tool(name: string, keys: readonly string[], required?: readonly string[]): Tool {
	const properties = Object.fromEntries(keys.map((key) => [key, text]));
	return { name, parameters: { type: "object", properties, ...(required && { required }) } };
}

const tools = [
	tool("bash", ["timeout", "command"], ["command"]),
	tool("deploy", ["note", "region", "url"]),
	tool("paint", ["shade", "colour"], ["colour"]),
	tool("mail", ["text", "message", "subject"], ["text"]),
	{ name: "wait", parameters: {} },
	{ name: "go", parameters: { properties: null, required: null } },
	{ name: "rust", parameters: { properties: { path: text }, required: null } },
	{ name: "none", parameters: null },
	{
		name: "broken",
		get parameters(): unknown {
			throw new Error("no schema today");
		},
	},
	{ name: "flat", parameters: "object" },
];

describe("a tool call in a few words", () => {
	for (const [shows, name, input, expected] of [
		["the command, whatever stands before it", "bash", { timeout: "5", command: "rm -rf build" }, "bash rm -rf build"],
		["a telling argument that is declared last", "deploy", { note: "x", url: "https://prod" }, "deploy https://prod"],
		["a required argument where none is telling", "paint", { shade: "dark", colour: "red" }, "paint red"],
		["a required argument before a more telling one", "mail", { message: "m", text: "t" }, "mail t"],
		["a more telling one where the required one is missing", "mail", { message: "m", subject: "s" }, "mail m"],
		["any declared argument where nothing else is given", "paint", { shade: "dark" }, "paint dark"],
		["nothing that is undeclared", "wait", { seconds: "3", command: "ls" }, "wait"],
		["nothing that the tool inherits", "bash", Object.create({ command: "ls" }) as object, "bash"],
		["no number", "bash", { command: 5 }, "bash"],
		["no blank argument", "mail", { text: "  ", message: "m" }, "mail m"],
		["no empty argument", "mail", { text: "", message: "m" }, "mail m"],
		["the name alone where the input is no object", "bash", "ls", "bash"],
		["the name alone where the input is null", "bash", null, "bash"],
		["nothing of a tool whose schema declares null", "go", { command: "ls" }, "go"],
		["an argument of a tool that requires null", "rust", { path: "a.txt" }, "rust a.txt"],
		["a telling argument of a tool whose schema is null", "none", { path: "a.txt" }, "none a.txt"],
		["the name alone where the schema cannot be read", "broken", { path: "a.txt" }, "broken"],
		["nothing of a tool whose schema is text", "flat", { path: "a.txt" }, "flat"],
		["at most 60 letters", "bash", { command: "x".repeat(80) }, `bash ${"x".repeat(54)}…`],
	] as const) {
		test(`shows ${shows}`, () => {
			assert.equal(callText({ tool: name, input }, tools), expected);
		});
	}

	test("shows of a tool that pi does not know the most telling argument first", () => {
		const telling =
			"command cmd script code path file_path filePath file pattern query url uri prompt task message text name id";
		const keys = telling.split(" ");
		for (const [i, key] of keys.entries()) {
			const input = Object.fromEntries(["other", ...keys.slice(i)].reverse().map((later) => [later, `the ${later}`]));
			assert.equal(callText({ tool: "strange", input }, tools), `strange the ${key}`);
		}
		assert.equal(callText({ tool: "strange", input: { other: "o" } }, tools), "strange");
	});
});
