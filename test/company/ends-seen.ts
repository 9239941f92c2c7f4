/** What can be seen of the end of a run: lines on stderr, outcomes on pi.events, records in the json stream. */
import { outcomes, type Event, type Host } from "../harness/index.ts";

/** The two ways in which a script runs pi. */
export const MODES = ["print", "json"] as const;

/** How a run ended: kind, and the meter and the limit that acted, if one did. */
export type End = readonly [kind: string, meter?: string, limit?: unknown];

/** How every run ended, as an extension beside ours hears it; the sandbox needs the `spy`. */
export function ends(pi: Host): End[] {
	return outcomes(pi).map(endOf);
}

/** How every run ended that stands in a json stream as an entry of the session. */
export function records(events: readonly Event[]): End[] {
	const entries = events.flatMap(({ type, entry }) => (type === "entry_appended" ? [entry as Entry] : []));
	return entries.filter(({ customType }) => customType === "turn-limit-outcome").map(({ data }) => endOf(data));
}

interface Entry {
	readonly customType?: string;
	readonly data?: unknown;
}

function endOf(outcome: unknown): End {
	const { kind, meter, limit } = outcome as { kind: string; meter?: string; limit?: unknown };
	return meter === undefined ? [kind] : [kind, meter, limit];
}

/** The lines of a text that hold something. */
export function lines(text: string): string[] {
	return text.split("\n").filter((line) => line !== "");
}

/** Our lines among everything on stderr. */
export function ours(stderr: string): string[] {
	return lines(stderr).filter((line) => line.startsWith("pi-turn-limit:"));
}
