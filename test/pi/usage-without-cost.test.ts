import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { calls, host, outcomes, spy, text } from "../harness/index.ts";

/** An extension to load beside ours: a tool that reports its tokens and no cost. pi itself takes that. */
function frugal(pi: ExtensionAPI): void {
	pi.registerTool({
		name: "look",
		label: "look",
		description: "Looks.",
		parameters: { type: "object", properties: {} } as never,
		execute: () =>
			Promise.resolve({ content: [{ type: "text", text: "ok" }], usage: { input: 10, output: 5 } } as never),
	});
}

test("a tool that reports some tokens and no cost is charged, and stops neither the run nor the session that is resumed", async (t) => {
	const pi = await host(t, {
		session: true,
		model: (_request, n) => (n === 1 ? calls({ name: "look", args: {} }) : text("done")),
		after: [frugal, spy],
	});
	const first = await pi.print("go");
	const resumed = await pi.print("-c", "go on");
	assert.deepEqual(
		[first, resumed].map(({ code, stdout, stderr }) => [code, stdout, stderr]),
		[
			[0, "done\n", ""],
			[0, "done\n", ""],
		],
	);
	assert.deepEqual(
		outcomes(pi).map(({ kind, tokens }) => [kind, tokens]),
		[
			["completed", 2 * 550 + 15],
			["completed", 550],
		],
	);
});

test("a tool that reports null as its usage does not keep the session from being resumed", async (t) => {
	const pi = await host(t, {
		session: true,
		model: (_request, n) => (n === 1 ? calls({ name: "look", args: {} }) : text("done")),
		after: [
			(pi) => {
				pi.registerTool({
					name: "look",
					label: "look",
					description: "Looks.",
					parameters: { type: "object", properties: {} } as never,
					execute: () => Promise.resolve({ content: [{ type: "text", text: "ok" }], usage: null } as never),
				});
			},
		],
	});
	await pi.print("go");
	const { code, stdout, stderr } = await pi.print("-c", "go on");
	assert.deepEqual([code, stdout, stderr], [0, "done\n", ""]);
});

test("an entry without a message on another branch does not keep the session from being resumed", async (t) => {
	const pi = await host(t, { session: true, model: () => text("done") });
	await pi.print("go", "again");
	const folder = join(dirname(pi.cwd), "sessions");
	const [file = ""] = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
		name.endsWith(".jsonl"),
	);
	const path = join(folder, file);
	const lines = readFileSync(path, "utf8").trim().split("\n");
	const odd = JSON.stringify({ type: "message", id: "0dd", parentId: null, timestamp: new Date().toISOString() });
	writeFileSync(path, `${[...lines.slice(0, -1), odd, lines.at(-1)].join("\n")}\n`);
	const { code, stdout, stderr } = await pi.print("--session", path, "go on");
	assert.deepEqual([code, stdout, stderr], [0, "done\n", ""]);
});
