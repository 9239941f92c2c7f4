/** What `/turn-limit` says, and the moves in a session that its tests need. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Rpc } from "../harness/index.ts";

/** Gives the command and what it was answered. */
export async function reply(rpc: Rpc, args = ""): Promise<string> {
	const before = rpc.notifications.length;
	await rpc.prompt(`/turn-limit ${args}`);
	return rpc.notifications
		.slice(before)
		.map(({ message }) => message)
		.join("\n");
}

/** Where each setting stands: `{ turns: "0 of 25 turns | default", … }`. */
export async function status(rpc: Rpc): Promise<Record<string, string>> {
	const rows = (await reply(rpc)).split("\n").map((line) => line.split(/ {2,}/));
	return Object.fromEntries(rows.map(([name = "", ...rest]) => [name, rest.join(" | ")]));
}

/** The rows of a fresh pi in the sandbox that tests of the other settings leave as they are. */
export const UNSET = {
	cost: "$0.00, unlimited | default",
	tokens: "0 tokens, unlimited | default",
	time: "0s, unlimited | default",
	repeats: "0, unlimited | PI_TURN_LIMIT_REPEATS",
	"session turns": "0, unlimited | default",
	"session cost": "$0.00, unlimited | default",
	"session tokens": "0, unlimited | default",
	"time to answer": "unlimited | default",
	"wrap-up text": "the built-in one | default",
	"partial note": "on | default",
	"may repeat": "none | default",
	bell: "on | default",
	odds: "on | default",
};

/** The row of the turns in the status. */
export async function turns(rpc: Rpc): Promise<string | undefined> {
	return (await status(rpc))["turns"];
}

/** Prompts and waits until pi has settled. */
export async function run(rpc: Rpc, prompt = "go"): Promise<void> {
	await rpc.prompt(prompt);
	await rpc.settled();
}

/** The id of the entry where the session stands. */
export async function leaf(rpc: Rpc): Promise<string> {
	return ((await rpc.send({ type: "get_entries" })) as { leafId: string }).leafId;
}

/** An extension to load beside ours: `/go-to id` moves to another entry of the session's tree. */
export function navigator(pi: ExtensionAPI): void {
	pi.registerCommand("go-to", {
		handler: async (id, ctx) => {
			await ctx.navigateTree(id);
		},
	});
}
