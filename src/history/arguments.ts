import { parseArgs } from "node:util";

/** The options of `/turn-limit advise`. */
export interface Arguments {
	readonly project: boolean;
	readonly json: boolean;
	/** Sets what is suggested, after a question. */
	readonly apply: boolean;
	readonly days?: number;
	readonly sessionDir?: string;
}

const OPTIONS = {
	project: { type: "boolean" },
	json: { type: "boolean" },
	apply: { type: "boolean" },
	days: { type: "string" },
	"session-dir": { type: "string" },
} as const;

/** Reads `--project --days n --session-dir path --json --apply`; a path with blanks stands in quotes. */
export function parseArguments(text: string): Arguments | { readonly problem: string } {
	const args = [...text.matchAll(/(?:"[^"]*"|'[^']*'|\S)+/g)].map(([word]) =>
		word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"),
	);
	let given: Arguments = { project: false, json: false, apply: false };
	// Not strict, because its errors do not say what was expected.
	const { tokens } = parseArgs({ args, options: OPTIONS, strict: false, allowPositionals: true, tokens: true });
	for (const token of tokens) {
		const { name, value = "", inlineValue } = { name: "", value: "", inlineValue: false, ...token };
		if ((name === "project" || name === "json" || name === "apply") && !inlineValue) given = { ...given, [name]: true };
		else if (name === "days") {
			const days = /^\d+(\.\d+)?$/.test(value) ? Number(value) : 0;
			if (days === 0 || days === Infinity)
				return { problem: `--days: expected a number above 0, got ${quoted(value)}.` };
			given = { ...given, days };
		} else if (name === "session-dir") {
			if (value === "" || value.startsWith("--"))
				return { problem: `--session-dir: expected a directory, got ${quoted(value)}.` };
			given = { ...given, sessionDir: value };
		} else {
			const known = "--project, --days <number>, --session-dir <path>, --json or --apply";
			return { problem: `advise: expected ${known}, got ${quoted(args[token.index] ?? "")}.` };
		}
	}
	return given;
}

function quoted(text: string): string {
	return text === "" ? "nothing" : `"${text}"`;
}
