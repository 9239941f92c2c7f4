import type { Call } from "../core/meters.ts";
import { clip } from "../core/text.ts";

/** A tool call in a few words: its name and the first text among its arguments. */
export function callText({ tool, input }: Call): string {
	const values = typeof input === "object" && input !== null ? Object.values(input) : [];
	const argument = values.find((value) => typeof value === "string") ?? "";
	return clip(`${tool} ${argument}`, 60);
}
