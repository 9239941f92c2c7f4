/** A program that embeds the pi under test with our library, in a process of its own. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as Pi from "@earendil-works/pi-coding-agent";
import type * as Ours from "../../src/index.ts";
import { cli, compiled, node, root, type Host, type Result } from "../harness/index.ts";
import { deadline } from "../harness/wait.ts";

/** What a program has at hand. */
export interface World {
	readonly pi: typeof Pi;
	readonly turnLimit: typeof Ours.turnLimit;
	/** A session in memory with these extensions, and pi's own tools. */
	readonly open: (...factories: Pi.ExtensionFactory[]) => Promise<Pi.AgentSession>;
}

/** How a program ended, and the value that it gave. */
export interface Ended<T> {
	readonly value: T;
	readonly stderr: string;
	readonly code: number;
}

/**
 * Runs the program until its process ends by itself. Its source text is what runs, so it can use nothing from around it;
 * its value has to be one that JSON can hold.
 */
export async function embed<T>(host: Host, program: (world: World) => Promise<T>): Promise<Ended<T>> {
	const file = join(host.cwd, "program.mjs");
	writeFileSync(
		file,
		`import { writeSync } from "node:fs";
import * as pi from ${JSON.stringify(pathToFileURL(join(dirname(cli), "index.js")))};
import { turnLimit } from ${JSON.stringify(pathToFileURL(join(root, "src/index.ts")))};
const open = ${open.toString()};
const program = ${program.toString()};
const value = await program({ pi, turnLimit, open: (...factories) => open(pi, factories) });
writeSync(1, JSON.stringify(value));
`,
	);
	const options = { cwd: host.cwd, env: compiled(host.env), timeout: deadline };
	const { stdout, stderr, code } = await new Promise<Result>((resolve) => {
		const child = execFile(node, [file], options, (_error, stdout, stderr) => {
			resolve({ stdout, stderr, code: child.exitCode, signal: child.signalCode });
		});
	});
	assert.ok(code !== null && stdout !== "", `The program gave no value (${code}).\n${stdout}\n${stderr}`);
	return { value: JSON.parse(stdout) as T, stderr, code };
}

async function open(pi: typeof Pi, extensionFactories: Pi.ExtensionFactory[]): Promise<Pi.AgentSession> {
	const where = { cwd: process.cwd(), agentDir: pi.getAgentDir() };
	const resourceLoader = new pi.DefaultResourceLoader({ ...where, noExtensions: true, extensionFactories });
	await resourceLoader.reload();
	const sessionManager = pi.SessionManager.inMemory(where.cwd);
	const { session } = await pi.createAgentSession({ ...where, resourceLoader, sessionManager });
	return session;
}
