/** Tab behind `/turn-limit ` lists what can follow; pi by itself lists files there. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { NAME } from "../host/api.ts";
import { offer } from "./grammar.ts";

type Provider = ReturnType<Parameters<ExtensionUIContext["addAutocompleteProvider"]>[0]>;

const ARGUMENTS = new RegExp(`^/${NAME} (.*)$`);

export function withCompletions(current: Provider): Provider {
	const typed = (lines: readonly string[], line: number, column: number): string | undefined =>
		ARGUMENTS.exec((lines[line] ?? "").slice(0, column))?.[1];
	return {
		...(current.triggerCharacters && { triggerCharacters: current.triggerCharacters }),
		getSuggestions: async (lines, line, column, options) => {
			const prefix = typed(lines, line, column);
			if (prefix === undefined || !options.force) return await current.getSuggestions(lines, line, column, options);
			const items = offer(prefix);
			return items && { items, prefix };
		},
		applyCompletion: (lines, line, column, item, prefix) => {
			if (typed(lines, line, column) !== prefix) return current.applyCompletion(lines, line, column, item, prefix);
			const text = lines[line] ?? "";
			const completed = text.slice(0, column - prefix.length) + item.value;
			const next = lines.with(line, completed + text.slice(column));
			return { lines: next, cursorLine: line, cursorCol: completed.length };
		},
		shouldTriggerFileCompletion: (lines, line, column) =>
			typed(lines, line, column) !== undefined || (current.shouldTriggerFileCompletion?.(lines, line, column) ?? true),
	};
}
