/** A session with a limit that it shares, in the test's own process. */
import { join } from "node:path";
import { endless } from "../harness/index.ts";
import { inside, type Inside, type InsideOptions } from "../harness/inside.ts";
import { noop } from "../harness/session.ts";
import type { Scope } from "../harness/wait.ts";

export interface SharingOptions extends InsideOptions {
	/** In the user's file. */
	limits: object;
}

export function sharing(t: Scope, { limits, ...options }: SharingOptions): Promise<Inside> {
	return inside(t, {
		model: endless(noop),
		...options,
		env: { PI_TURN_LIMIT_REPEATS: "unlimited", ...options.env },
		agentFiles: { "turn-limit.json": { grace: 0, ...limits }, ...options.agentFiles },
	});
}

export function directoryOf({ folder }: Inside): string {
	return join(folder, "turn-limit-ledger");
}

export function fileOf(pi: Inside): string {
	return join(directoryOf(pi), "ledger.sqlite");
}

/** The kinds of the outcomes so far. */
export function kinds(pi: Inside): string[] {
	return pi.entries("turn-limit-outcome").map((outcome) => (outcome as { kind: string }).kind);
}
