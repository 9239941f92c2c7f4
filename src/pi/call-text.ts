import type { Call } from "../core/meters.ts";
import { clip } from "../core/text.ts";

/** A tool as pi knows it; `parameters` is a JSON schema. */
export interface Tool {
	readonly name: string;
	readonly parameters: unknown;
}

/** Arguments that say what a call does, the most telling first. */
const TELLING = [
	...["command", "cmd", "script", "code", "path", "file_path", "filePath", "file", "pattern", "query"],
	...["url", "uri", "prompt", "task", "message", "text", "name", "id"],
];

/**
 * A tool call in a few words: its name and the argument that says most. The model chooses neither which one that is
 * nor its place: an argument that the tool does not declare is never shown.
 */
export function callText({ tool, input }: Call, tools: readonly Tool[]): string {
	const values = (typeof input === "object" && input !== null ? input : {}) as Readonly<Record<string, unknown>>;
	const argument = keysOf(tools.find(({ name }) => name === tool)?.parameters)
		.map((key) => (Object.hasOwn(values, key) ? values[key] : undefined))
		.find((value) => typeof value === "string" && value.trim() !== "");
	return clip(`${tool} ${typeof argument === "string" ? argument : ""}`, 60);
}

/** The arguments that a tool declares, those to look at first first; of a tool that pi does not know the telling ones. */
function keysOf(parameters: unknown): readonly string[] {
	if (parameters === undefined) return TELLING;
	const { properties = {}, required = [] } = parameters as { properties?: object; required?: readonly string[] };
	const declared = Object.keys(properties);
	const needed = declared.filter((key) => required.includes(key));
	const telling = (keys: readonly string[]): readonly string[] => TELLING.filter((key) => keys.includes(key));
	return [...telling(needed), ...telling(declared), ...needed, ...declared];
}
