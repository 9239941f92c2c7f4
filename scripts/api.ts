/** Writes the API pages of the manual from the sources: `node scripts/api.ts`. */
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { format } from "prettier";
import ts from "typescript";

const root = resolve(import.meta.dirname, "..");
const WIDTH = 92;

/** The entries of the package on each page. `pi-turn-limit/core` is left to its declarations. */
const PAGES = {
	"docs/api.md": {
		title: "API: programs that embed pi",
		about: "The types of [`turnLimit()`](embedding.md).",
		entries: { "pi-turn-limit": "src/index.ts" },
	},
	"docs/api-loops.md": {
		title: "API: a loop of your own",
		about: "The types of [`loopLimit()`](loops.md).",
		entries: { "pi-turn-limit/loop": "src/hosts/loop/index.ts" },
	},
	"docs/api-hosts.md": {
		title: "API: the AI SDK and pi's bare Agent",
		about: "The types of [`aiLimit()`](ai-sdk.md) and [`limitAgent()`](pi-agent.md).",
		entries: {
			"pi-turn-limit/ai": "src/hosts/ai/index.ts",
			"pi-turn-limit/pi-agent": "src/hosts/pi-agent/index.ts",
		},
	},
};

/** Types that exported ones are made of, in the file of each. */
const PARTS = new Set([
	"CommonOptions",
	"Spent",
	"Trip",
	"Verdict",
	"Ending",
	"Gauge",
	"Caps",
	"Reply",
	"Answer",
	"Call",
]);

/** The text of each page. */
export async function pages(): Promise<Map<string, string>> {
	const { config } = ts.readConfigFile(join(root, "tsconfig.json"), (path) => readFileSync(path, "utf8")) as {
		config: object;
	};
	const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
	const entries = Object.values(PAGES).flatMap((page) => Object.values<string>(page.entries));
	const program = ts.createProgram(
		entries.map((file) => join(root, file)),
		options,
	);
	const checker = program.getTypeChecker();
	const meant = (symbol: ts.Symbol): ts.Symbol =>
		symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
	const shown = new Set<ts.Symbol>();

	/** Those parts of the symbols that no page has shown. */
	const partsOf = (symbols: readonly ts.Symbol[]): ts.Symbol[] => {
		const found = new Set<ts.Symbol>();
		const visit = (node: ts.Node): void => {
			const symbol = ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node) ? named(node) : undefined;
			if (symbol && PARTS.has(symbol.name) && !shown.has(symbol) && !found.has(symbol)) {
				found.add(symbol);
				symbol.declarations?.forEach(visit);
			}
			ts.forEachChild(node, visit);
		};
		const named = (node: ts.TypeReferenceNode | ts.ExpressionWithTypeArguments): ts.Symbol | undefined => {
			const symbol = checker.getSymbolAtLocation(ts.isTypeReferenceNode(node) ? node.typeName : node.expression);
			return symbol && meant(symbol);
		};
		for (const { declarations } of symbols) declarations?.forEach(visit);
		return [...found];
	};

	const section = async (entry: string, file: string): Promise<string> => {
		const source = program.getSourceFile(join(root, file));
		const module = source && checker.getSymbolAtLocation(source);
		if (module === undefined) throw new Error(`${file} is no module.`);
		const symbols = checker.getExportsOfModule(module).map(meant);
		const known = symbols.filter((symbol) => shown.has(symbol)).map(({ name }) => `\`${name}\``);
		const fresh = symbols.filter((symbol) => !shown.has(symbol));
		for (const symbol of fresh) shown.add(symbol);
		const parts = partsOf(fresh);
		for (const symbol of parts) shown.add(symbol);
		const declared = (symbol: ts.Symbol): string => declarationOf(symbol, checker);
		const code = [...fresh.map(declared), ...parts.map((part) => declared(part).replace(/^export /m, ""))];
		const text = wrapped(await format(code.join("\n\n"), { parser: "typescript", printWidth: WIDTH }));
		const also = known.length === 0 ? "" : `Also exports, from the other API pages: ${known.join(", ")}.\n\n`;
		return `## \`${entry}\`\n\n${also}\`\`\`ts\n${text}\`\`\`\n`;
	};

	const made = new Map<string, string>();
	for (const [page, { title, about, entries }] of Object.entries(PAGES)) {
		const sections = [];
		for (const [entry, file] of Object.entries<string>(entries)) sections.push(await section(entry, file));
		const note = "Generated from the sources. Types without `export` are parts of others.";
		made.set(page, `# ${title}\n\n${about} ${note}\n\n${sections.join("\n")}`);
	}
	return made;
}

/** As a declaration file has it: with the contract, without bodies; the keys of a table are spelled out. */
function declarationOf({ name, declarations }: ts.Symbol, checker: ts.TypeChecker): string {
	const node = declarations?.find((one) => relative(root, one.getSourceFile().fileName).startsWith("src/"));
	if (node === undefined) throw new Error(`${name} is not declared here.`);
	const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
	let text = statement.getSourceFile().text.slice(statement.getFullStart(), statement.end).trim();
	if (ts.isTypeAliasDeclaration(node) && ts.isTypeOperatorNode(node.type)) {
		const keys = checker.typeToString(checker.getTypeFromTypeNode(node.type), node, ts.TypeFormatFlags.NoTruncation);
		text = text.replace(node.type.getText(), keys);
	}
	const withBody = ts.isClassDeclaration(node) ? node.members : [node];
	for (const one of withBody) {
		const body = (one as Partial<ts.FunctionDeclaration>).body?.getText();
		if (body !== undefined) text = text.replace(body, ";");
	}
	return text
		.replace("export async ", "export ")
		.replaceAll(/(\w+): ([\w<>]+) = \{\}/g, "$1?: $2")
		.replaceAll(/(\w+) = ""/g, "$1?: string");
}

/** Comments in lines that fit. */
function wrapped(code: string): string {
	return code.replaceAll(/^( *)\/\*\*([^]*?)\*\//gm, (_all, indent: string, body: string) => {
		const lines = [""];
		for (const word of body
			.replaceAll(/^\s*\*/gm, "")
			.trim()
			.split(/\s+/)) {
			const longer = `${lines.at(-1)} ${word}`.trim();
			if (indent.length + longer.length + "// ".length > WIDTH) lines.push(word);
			else lines[lines.length - 1] = longer;
		}
		return lines.map((line) => `${indent}// ${line}`).join("\n");
	});
}

if (import.meta.main) for (const [page, text] of await pages()) writeFileSync(join(root, page), text);
