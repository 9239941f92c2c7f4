/** An extension that gives another agent in the same process something to do, once, when an event fires: `CHILD_AT` says which. */
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { openChild } from "./open-child.ts";

const slot = globalThis as { hasChild?: boolean };

export default function (pi: ExtensionAPI): void {
	const start = async ({ cwd }: ExtensionContext): Promise<void> => {
		if (slot.hasChild) return;
		slot.hasChild = true;
		const session = await openChild(cwd);
		await session.bindExtensions({});
		await session.prompt("child");
	};
	pi.on("session_start", (event, ctx) => (process.env["CHILD_AT"] === event.type ? start(ctx) : undefined));
	pi.on("session_shutdown", (event, ctx) => (process.env["CHILD_AT"] === event.type ? start(ctx) : undefined));
}
