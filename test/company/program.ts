/** A program that embeds pi, in a process of its own, with the pi that the tests run on and the library as it stands in src. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type * as sdk from "@earendil-works/pi-coding-agent";
import { cli, compiled, type Host, node, type Result, root } from "../harness/index.ts";
import { deadline } from "../harness/wait.ts";
import type * as library from "../../src/index.ts";

type Loader = InstanceType<typeof sdk.DefaultResourceLoader>;

/** What the body of a program finds in its only parameter. */
export interface Kit {
	sdk: typeof sdk;
	turnLimit: typeof library.turnLimit;
	/** A loader of nothing but these extensions. It has not loaded yet. */
	loader: (factories: sdk.ExtensionFactory[], eventBus?: sdk.EventBus) => Loader;
	/** A session of its own, stored nowhere. */
	open: (loader: Loader) => Promise<sdk.AgentSession>;
	/** How a prompt ended: the outcome's kind and turns, or the name and the message of the error. */
	ending: (
		prompt: Promise<library.Outcome>,
	) => Promise<[kind: string, turns: number] | [name: string, message: string]>;
}

const KIT = `
import * as sdk from "@earendil-works/pi-coding-agent";
import { LimitExceeded, turnLimit } from "pi-turn-limit";
const place = { cwd: process.cwd(), agentDir: sdk.getAgentDir() };
const kit = {
	sdk,
	turnLimit,
	loader: (extensionFactories, eventBus) =>
		new sdk.DefaultResourceLoader({ ...place, extensionFactories, noExtensions: true, ...(eventBus && { eventBus }) }),
	open: async (resourceLoader) =>
		(await sdk.createAgentSession({ resourceLoader, sessionManager: sdk.SessionManager.inMemory() })).session,
	ending: (prompt) =>
		prompt.then(
			({ kind, turns }) => [kind, turns],
			(error) => (error instanceof LimitExceeded ? [error.outcome.kind, error.outcome.turns] : [error.name, error.message]),
		),
};
`;

/** Runs the program and gives what it returns. Its source text is what runs, so it can use nothing from around it. */
export async function embedded<T>(pi: Host, main: (kit: Kit) => Promise<T>): Promise<T> {
	const { stdout, stderr, code } = await runProgram(
		pi,
		`${KIT}console.log(JSON.stringify(await (${main.toString()})(kit)));`,
	);
	if (code !== 0) throw new Error(`The program ended with ${code}:\n${stderr}`);
	return JSON.parse(stdout) as T;
}

/** Runs a program that imports pi and pi-turn-limit by name. */
export async function runProgram(pi: Host, source: string): Promise<Result> {
	const packages = {
		"@earendil-works/pi-coding-agent": join(dirname(cli), "index.js"),
		"pi-turn-limit": join(root, "src/index.ts"),
	};
	const hook = `import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
const packages = ${JSON.stringify(packages)};
registerHooks({
	resolve: (name, context, next) =>
		Object.hasOwn(packages, name) ? { url: pathToFileURL(packages[name]).href, shortCircuit: true } : next(name, context),
});`;
	const [hooks, file] = ["hooks.mjs", "program.mjs"].map((name) => join(pi.cwd, name)) as [string, string];
	writeFileSync(hooks, hook);
	writeFileSync(file, source);
	return new Promise((resolve) => {
		const child = execFile(
			node,
			["--import", hooks, file],
			{ cwd: pi.cwd, env: compiled(pi.env), timeout: deadline },
			(_error, stdout, stderr) => resolve({ stdout, stderr, code: child.exitCode, signal: child.signalCode }),
		);
	});
}

/** The program that docs/embedding.md shows. */
export function documentedProgram(): string {
	const page = readFileSync(join(root, "docs/embedding.md"), "utf8");
	const program = /^```js\n(.*?)^```$/ms.exec(page)?.[1];
	if (program === undefined) throw new Error("docs/embedding.md shows no program.");
	return program;
}
