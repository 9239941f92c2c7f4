/**
 * An extension that opens a dialog, and others beside it, so that a test sees them in a real terminal. The tool `ask`
 * opens what stands in `ask.json`; the reply is its result and a notification.
 */
import { existsSync, readFileSync } from "node:fs";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { choose, type Dialog, type DialogUI, type Options } from "../../src/pi/dialog.ts";

/** What `ask.json` holds. */
export interface Ask {
	dialog: Dialog;
	options?: Omit<Options, "signal">;
	/** pi is busy from the moment in which the dialog opens until the file `go-on` is there. */
	busy?: boolean;
}

/** Keys that pi does not know. They make something happen while the dialog is open. */
export const cues = {
	withdraw: "\x1b[15~",
	openRival: "\x1b[17~",
	closeRival: "\x1b[18~",
	openClock: "\x1b[19~",
};

export default function asker(pi: ExtensionAPI): void {
	const withdrawing = new AbortController();
	let asked = 0;
	pi.registerTool({
		...{ name: "ask", label: "ask", description: "Asks.", parameters: { type: "object", properties: {} } },
		execute: async (_id, _parameters, _signal, _onUpdate, { ui }) => {
			const { dialog, options, busy } = JSON.parse(readFileSync("ask.json", "utf8")) as Ask;
			const how = { ...options, signal: withdrawing.signal };
			const reply = JSON.stringify(await choose(busy ? stalling(ui) : ui, dialog, how).catch(String));
			ui.notify(`Reply ${++asked}: ${reply}`);
			return { content: [{ type: "text", text: reply }], details: {} };
		},
	});
	pi.on("session_start", (_event, { ui }) => {
		const happens: Record<string, () => unknown> = { [cues.withdraw]: () => withdrawing.abort(), ...rivals(ui) };
		ui.onTerminalInput((data) => {
			happens[data]?.();
			return data in happens ? { consume: true } : undefined;
		});
	});
}

/** What other extensions show. */
function rivals(ui: ExtensionContext["ui"]): Record<string, () => unknown> {
	const closing = new AbortController();
	const { signal } = closing;
	const clock = { render: () => ["Noon"], invalidate() {} };
	return {
		[cues.openRival]: async () => ui.notify(`Rival: ${await ui.select("Rival?", ["left", "right"], { signal })}`),
		[cues.closeRival]: () => closing.abort(),
		[cues.openClock]: () =>
			ui.custom(() => clock, {
				overlay: true,
				overlayOptions: { anchor: "top-right", width: 4, nonCapturing: true },
			}),
	};
}

function stalling(ui: DialogUI): DialogUI {
	const custom: DialogUI["custom"] = (factory, options) =>
		ui.custom(factory, {
			...options,
			onHandle: (handle) => {
				options?.onHandle?.(handle);
				while (!existsSync("go-on"));
			},
		});
	return { ...ui, custom };
}
