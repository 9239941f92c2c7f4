import { isObject } from "../../../core/is-object.ts";
import type { Call } from "../../../core/meters.ts";
import { clip } from "../../../core/text.ts";

/** A tool as pi knows it; `parameters` is a JSON schema. */
export interface Tool {
	readonly name: string;
	readonly parameters: unknown;
}

/** Arguments that say what a call does, the most informative first. */
const INFORMATIVE = [
	...["command", "cmd", "script", "code", "path", "file_path", "filePath", "file", "pattern", "query"],
	...["url", "uri", "prompt", "task", "message", "text", "name", "id"],
];

/**
 * A tool call in a few words: its name and its most informative argument. The model cannot choose which one that is:
 * an argument that the tool does not declare is never shown.
 */
export function callText(call: Call, tools: readonly Tool[]): string {
	return clip(`${call.tool} ${argumentOf(call, tools)}`, 60);
}

/** Nothing where the tool or the input cannot be read: a description must not decide whether somebody is asked. */
function argumentOf({ tool, input }: Call, tools: readonly Tool[]): string {
	try {
		const values = isObject(input) ? input : {};
		return (
			keysOf(tools.find(({ name }) => name === tool)?.parameters)
				.map((key) => (Object.hasOwn(values, key) ? values[key] : undefined))
				.find((value): value is string => typeof value === "string" && value.trim() !== "") ?? ""
		);
	} catch {
		return "";
	}
}

/** The arguments that a tool declares, the most informative first; for a tool without a schema the usual ones. */
function keysOf(parameters: unknown): readonly string[] {
	if (parameters === undefined || parameters === null) return INFORMATIVE;
	// Schemas come as their authors wrote them: servers in Go send null for an empty list.
	const { properties, required } = parameters as { properties?: unknown; required?: unknown };
	const declared = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
	const needed = Array.isArray(required) ? declared.filter((key) => required.includes(key)) : [];
	const informative = (keys: readonly string[]): readonly string[] => INFORMATIVE.filter((key) => keys.includes(key));
	return [...informative(needed), ...informative(declared), ...needed, ...declared];
}
