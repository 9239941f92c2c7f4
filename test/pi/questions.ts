/** The question in a real terminal: a pi that asks after one turn of every prompt. */
import { held, host, mark, text, type Host, type HostOptions, type Reply, type Terminal } from "../harness/index.ts";
import type { TerminalOptions } from "../harness/terminal.ts";
import type { Scope } from "../harness/wait.ts";

/** What differs from one test to the next. */
export interface Scene
	extends TerminalOptions, Pick<HostOptions, "settings" | "env" | "agentFiles" | "before" | "after" | "session"> {
	/** The model's reply to the prompt, for a test that holds it back. */
	reply?: () => Reply;
}

/** pi in its terminal, before the first prompt. The prompt `go` takes one turn, then the question opens; after a yes the model is done. */
export async function start(t: Scope, scene: Scene = {}): Promise<{ pi: Host; tui: Terminal }> {
	const { reply = mark, cols, rows, args, env, ...options } = scene;
	const pi = await host(t, {
		...options,
		env: { PI_MAX_TURNS: "1", ...env },
		model: ({ last }) => (last === "go" ? reply() : text("Done.")),
	});
	return { pi, tui: await pi.terminal({ ...(cols && { cols }), ...(rows && { rows }), ...(args && { args }) }) };
}

/** A question on the screen whose answers count. */
export async function ready(t: Scope, scene: Scene = {}): Promise<{ pi: Host; tui: Terminal }> {
	const started = await start(t, scene);
	started.tui.type("go\r");
	await started.tui.shows("→ Continue");
	return started;
}

/** A question that opens after something has happened in the editor's place. */
export async function interrupt(
	t: Scope,
	happens: (tui: Terminal) => Promise<unknown>,
	scene: Scene = {},
): Promise<{ pi: Host; tui: Terminal }> {
	const slow = held();
	const { pi, tui } = await start(t, { ...scene, reply: () => slow });
	tui.type("go\r");
	await pi.model.arrival(1);
	await happens(tui);
	slow.release();
	await tui.shows("You've used");
	return { pi, tui };
}

/** Waits until the run has gone on and ended. */
export async function continued(tui: Terminal): Promise<void> {
	await tui.shows("Done.");
	await over(tui);
}

/** Waits until the run was stopped. */
export async function stopped(tui: Terminal): Promise<void> {
	await tui.shows("You stopped the run");
	await over(tui);
}

/** Waits until the question is gone and pi idle. */
export async function over(tui: Terminal): Promise<void> {
	await tui.lacks("You've used");
	await tui.lacks("Working");
}

/** The editor holds these lines, and nothing else. */
export function editor(...lines: string[]): string {
	return `─\n${lines.join("\n")}\n─`;
}
