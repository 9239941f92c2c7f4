/** Types in a terminal as a person does: the next key only when pi has shown what it makes of the last one. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Terminal } from "./terminal.ts";

/**
 * An extension to load beside ours. After every key it waits until pi has all completions that it asked for, and then
 * shows how many keys there were and what the editor holds: `key 3 [go ]`.
 */
export function echoesKeys(pi: ExtensionAPI): void {
	pi.on("session_start", (_event, ctx) => {
		let keys = 0;
		let asked = 0;
		ctx.ui.addAutocompleteProvider((provider) => {
			const getSuggestions: typeof provider.getSuggestions = async (...args) => {
				asked++;
				try {
					return await provider.getSuggestions(...args);
				} finally {
					asked--;
				}
			};
			return new Proxy(provider, {
				get: (target, name) => {
					const value: unknown = Reflect.get(target, name);
					if (name === "getSuggestions") return getSuggestions;
					return typeof value === "function" ? (value.bind(target) as unknown) : value;
				},
			});
		});
		const echo = (): void => {
			if (asked > 0) setImmediate(echo);
			else ctx.ui.setStatus("keys", `key ${keys} [${ctx.ui.getEditorText()}]`);
		};
		ctx.ui.onTerminalInput((data) => {
			// The terminal's own replies come the same way.
			if (!/^[ -~\r]$/.test(data)) return undefined;
			keys++;
			setImmediate(echo);
			return undefined;
		});
	});
}

/** Somebody who types into a terminal that loads `echoesKeys`. */
export class Typist {
	readonly #terminal: Terminal;
	#keys = 0;

	constructor(terminal: Terminal) {
		this.#terminal = terminal;
	}

	/** Types text key by key, `\r` included; gives what the editor holds then. */
	async type(text: string): Promise<string> {
		let held = "";
		for (const key of text.split("")) {
			this.#terminal.type(key);
			const echo = new RegExp(`key ${++this.#keys} \\[(.*)\\]`);
			held = echo.exec(await this.#terminal.shows(echo))?.[1] ?? "";
		}
		return held;
	}
}
