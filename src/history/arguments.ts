/** The options of `/turn-limit advise`. */
export interface Arguments {
	readonly project: boolean;
	readonly json: boolean;
	readonly days?: number;
	readonly sessionDir?: string;
}

/** Reads `--project --days n --session-dir path --json`; a path with blanks stands in quotes. */
export function parseArguments(text: string): Arguments | { readonly problem: string } {
	const words = [...text.matchAll(/(?:"[^"]*"|'[^']*'|\S)+/g)].map(([word]) =>
		word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"),
	);
	let given: Arguments = { project: false, json: false };
	for (let i = 0; i < words.length; i++) {
		const [, name = "", inline] = /^(--[a-z-]+)(?:=(.*))?$/s.exec(words[i] ?? "") ?? [];
		const value = (): string => inline ?? words[++i] ?? "";
		if (name === "--project" && inline === undefined) given = { ...given, project: true };
		else if (name === "--json" && inline === undefined) given = { ...given, json: true };
		else if (name === "--days") {
			const text = value();
			const days = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
			if (days === 0 || days === Infinity)
				return { problem: `--days: expected a number above 0, got ${quoted(text)}.` };
			given = { ...given, days };
		} else if (name === "--session-dir") {
			const sessionDir = value();
			if (sessionDir === "" || sessionDir.startsWith("--"))
				return { problem: `--session-dir: expected a directory, got ${quoted(sessionDir)}.` };
			given = { ...given, sessionDir };
		} else {
			const known = "--project, --days <number>, --session-dir <path> or --json";
			return { problem: `advise: expected ${known}, got ${quoted(words[i] ?? "")}.` };
		}
	}
	return given;
}

function quoted(text: string): string {
	return text === "" ? "nothing" : `"${text}"`;
}
