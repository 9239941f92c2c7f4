/** Dialogs in a real terminal, opened by `asker.ts`. */
import { join } from "node:path";
import type { Dialog } from "../../src/pi/dialog.ts";
import { calls, held, host, text, type Host, type HostOptions, type Reply, type Terminal } from "../harness/index.ts";
import type { TerminalOptions } from "../harness/terminal.ts";
import type { Scope } from "../harness/wait.ts";
import type { Ask } from "./asker.ts";

/** A question as the product asks it. */
export const dialog: Dialog = {
	title: "Turn limit reached",
	lines: ["You've used 25 turns. Continue?", "Last call: bash echo 日本語 🎉 and then a command long enough to wrap"],
	choices: [
		{ id: "yes", label: "Continue", typed: ["y", "yes"] },
		{ id: "tell", label: "Continue, and tell it something…", asks: "What should it know?" },
		{ id: "wrap", label: "Wrap up now" },
		{ id: "no", label: "Stop", typed: ["n", "no"] },
	],
	escape: "Escape stops.",
};

/** The keys are never quiet for long enough, so no answer ever counts. */
export const never = { quiet: 1e9, typed: 1e9 };

/** The model's call that opens the dialog. */
export const ask = calls({ name: "ask", args: {} });

/** What differs from one test to the next. */
export interface Scene extends Partial<Ask>, TerminalOptions, Pick<HostOptions, "settings" | "env"> {
	/** The model's reply to a prompt, for a test that holds it back. */
	reply?: () => Reply;
}

/** A sandbox in which the model opens a dialog at every prompt. */
export function sandbox(
	t: Scope,
	{ dialog: shown = dialog, options, busy, settings, env, reply }: Scene,
): Promise<Host> {
	return host(t, {
		...{ extension: false, after: [join(import.meta.dirname, "asker.ts")], settings: settings ?? {}, env: env ?? {} },
		files: { "ask.json": { dialog: shown, options, busy } },
		model: ({ body }) => (body.messages.at(-1)?.role === "tool" ? text("Done.") : (reply?.() ?? ask)),
	});
}

/** pi in its terminal, before the first prompt. */
export async function start(t: Scope, scene: Scene = {}): Promise<{ pi: Host; tui: Terminal }> {
	const pi = await sandbox(t, scene);
	return { pi, tui: await pi.terminal(scene) };
}

/** A dialog on the screen whose answers count. */
export async function ready(t: Scope, scene: Scene = {}): Promise<Terminal> {
	const { tui } = await start(t, scene);
	tui.type("go\r");
	await tui.shows("→ Continue");
	return tui;
}

/** A dialog that opens after something has happened in the editor's place. */
export async function interrupt(t: Scope, happens: (tui: Terminal) => Promise<unknown>): Promise<Terminal> {
	const slow = held(ask);
	const { pi, tui } = await start(t, { reply: () => slow });
	tui.type("go\r");
	await pi.model.arrival(1);
	await happens(tui);
	slow.release();
	await tui.shows("Turn limit reached");
	return tui;
}

/** What the screen shows after the nth dialog. */
export const picked = (n: number, id: string): string => `Reply ${n}: {"kind":"picked","id":"${id}"}`;
export const dismissed = (n: number): string => `Reply ${n}: {"kind":"dismissed"}`;
export const withdrawn = (n: number): string => `Reply ${n}: {"kind":"withdrawn"}`;
