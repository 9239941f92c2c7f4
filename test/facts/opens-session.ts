/** An extension that opens a session in pi's process; the session says whether a theme was made between its loading and its start. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { openChild } from "../company/open-child.ts";
import saysBuiltIn from "./built-in.ts";

const key = Symbol.for("@earendil-works/pi-coding-agent:theme");
const slot = globalThis as { [key]?: unknown };

function looks(pi: ExtensionAPI): void {
	const loaded = slot[key];
	pi.on("session_start", () => console.error(`${loaded !== undefined} ${slot[key] !== loaded}`));
}

export default function (pi: ExtensionAPI): void {
	pi.on("session_start", async (_event, { cwd }) => {
		const session = await openChild(cwd, [looks, saysBuiltIn]);
		await session.bindExtensions({});
		session.dispose();
	});
}
