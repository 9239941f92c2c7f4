/** An extension that gives another agent in the same process something to do, once: `CHILD_AT` is an event, or `load`. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { openChild } from "./open-child.ts";

const slot = globalThis as { hasChild?: boolean };

export default async function (pi: ExtensionAPI): Promise<void> {
	const start = async ({ cwd }: { cwd: string }): Promise<void> => {
		if (slot.hasChild) return;
		slot.hasChild = true;
		const session = await openChild(cwd);
		await session.bindExtensions({});
		await session.prompt("child");
	};
	if (process.env["CHILD_AT"] === "load") await start({ cwd: process.cwd() });
	pi.on("session_start", (event, ctx) => (process.env["CHILD_AT"] === event.type ? start(ctx) : undefined));
	pi.on("session_shutdown", (event, ctx) => (process.env["CHILD_AT"] === event.type ? start(ctx) : undefined));
}
