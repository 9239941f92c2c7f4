/** A sandbox in which a real pi runs against a scripted model, and the ways to run it. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { childVariables } from "./children.ts";
import { helpers, write } from "./folders.ts";
import { text, type Reply, type Script } from "./model.ts";
import { cli, extension, node, Running, type Pi, type Result } from "./process.ts";
import { Rpc, type Event, type RpcOptions } from "./rpc.ts";
import { Model } from "./server.ts";
import type { Terminal, TerminalOptions } from "./terminal.ts";
import { defer, type Scope } from "./wait.ts";
import { canReuse, Reused } from "./warm.ts";

/**
 * An extension to load beside ours: a file, or a factory. The factory's source text is what pi loads, in its own
 * process, so it can use nothing from around it.
 */
export type Extra = string | ((pi: ExtensionAPI) => void);

/** What a test can say about its sandbox. */
export interface HostOptions {
	/** Default: a model that says `done`. */
	model?: Script;
	/** The reply to compaction and branch summaries. */
	summary?: Reply;
	/** Further fields of the model in models.json: `contextWindow`, `promptCache`, `cost`. */
	modelFields?: Record<string, unknown>;
	/** Fields of settings.json; `retry` and `compaction` are merged with the sandbox's own. */
	settings?: { retry?: object; compaction?: object; [name: string]: unknown };
	env?: Record<string, string>;
	/** Further command-line arguments. */
	args?: readonly string[];
	/** false: pi without our extension. */
	extension?: boolean;
	/** true: pi also loads the extensions that are installed and its built-in ones, as it does for a person. */
	discovers?: boolean;
	/** Extensions loaded before and after ours. */
	before?: readonly Extra[];
	after?: readonly Extra[];
	/** Files to write into the working directory and into the agent directory; objects become JSON. */
	files?: Record<string, string | object>;
	agentFiles?: Record<string, string | object>;
	/** true: sessions are stored, so that `--continue` finds them. */
	session?: boolean;
	/** true: each pi has a process of its own, because the test is about the process. */
	fresh?: boolean;
}

/** A sandbox with a scripted model; pi itself is not started yet. */
export async function host(t: Scope, options: HostOptions = {}): Promise<Host> {
	const model = new Model(options.model ?? [text("done")], options.summary ?? text("A summary."));
	return new Host(t, options, model, await model.listen(t));
}

/** Everything that one test needs around pi. */
export class Host {
	readonly model: Model;
	/** The test's own folders. */
	readonly cwd: string;
	readonly agentDir: string;
	readonly env: Record<string, string>;
	readonly #t: Scope;
	/** The command line that every pi of this sandbox begins with. */
	readonly args: readonly string[];
	readonly #isFresh: boolean;

	constructor(t: Scope, options: HostOptions, model: Model, url: string) {
		const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
		// A pi in a process that is used again may still be writing its last file. `rmSync` would not look for it again.
		defer(t, () => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
		this.#t = t;
		this.#isFresh = options.fresh === true || !canReuse;
		this.model = model;
		this.cwd = join(folder, "work");
		this.agentDir = join(folder, "agent");
		this.env = {
			PATH: [dirname(node), process.env["PATH"]].join(delimiter),
			HOME: join(folder, "home"),
			TMPDIR: tmpdir(),
			LANG: "C.UTF-8",
			TERM: "xterm-256color",
			TZ: process.env["TZ"] as string,
			PI_CODING_AGENT_DIR: this.agentDir,
			PI_OFFLINE: "1",
			// Scripted models repeat themselves.
			PI_TURN_LIMIT_REPEATS: "unlimited",
			...(this.#isFresh ? {} : childVariables()),
			...options.env,
		};
		mkdirSync(this.env["HOME"] as string);
		write(this.cwd, options.files);
		write(this.agentDir, {
			"models.json": models(url, options.modelFields),
			"settings.json": settings(options.settings),
			...helpers,
			...options.agentFiles,
		});
		const load = (extra: Extra, i: number, list: string): string[] => {
			if (typeof extra === "string") return ["-e", extra];
			write(folder, { [`${list}${i}.mjs`]: `export default ${extra.toString()};\n` });
			return ["-e", join(folder, `${list}${i}.mjs`)];
		};
		this.args = [
			...["--offline", "--no-skills", "--no-prompt-templates", "--no-context-files"],
			...(options.discovers ? [] : ["--no-extensions"]),
			...(options.before ?? []).flatMap((extra, i) => load(extra, i, "before")),
			...(options.extension === false ? [] : ["-e", extension]),
			...(options.after ?? []).flatMap((extra, i) => load(extra, i, "after")),
			...(options.session ? ["--session-dir", join(folder, "sessions")] : ["--no-session"]),
			...(options.args ?? []),
		];
	}

	/** `pi -p`: runs the prompts to the end. */
	print(...prompts: string[]): Promise<Result> {
		return this.#run(["-p", ...prompts], false).ended();
	}

	/** `pi --mode json`: runs the prompts to the end. */
	async json(...prompts: string[]): Promise<Result & { events: Event[] }> {
		const result = await this.#run(["--mode", "json", ...prompts], false).ended();
		return {
			...result,
			events: result.stdout
				.trim()
				.split("\n")
				.map((line) => JSON.parse(line) as Event),
		};
	}

	/** pi with no arguments but these, to its end: with the packages that are installed. */
	typed(...args: string[]): Promise<Result> {
		return this.#run(args, false, []).ended();
	}

	/** pi with any arguments in a process of its own, started and not waited for. */
	start(...args: string[]): Running {
		return new Running(this.#t, this.cwd, this.env, [...this.args, ...args], "ignore");
	}

	/** pi in the terminal of this process, until the person leaves it; gives its exit code. */
	attached(...args: string[]): Promise<number> {
		const child = spawn(node, [cli, ...this.args, ...args], { cwd: this.cwd, env: this.env, stdio: "inherit" });
		defer(this.#t, () => child.kill("SIGTERM"));
		return new Promise((resolve) => child.on("close", (code) => resolve(code ?? 1)));
	}

	/** `pi --mode rpc`, ready for commands. */
	async rpc(options: RpcOptions = {}): Promise<Rpc> {
		const rpc = new Rpc(this.#run(["--mode", "rpc", ...(options.args ?? [])], true), options.answer ?? "ignore");
		await rpc.send({ type: "get_state" });
		return rpc;
	}

	/** pi in a terminal, ready for input. */
	async terminal(options: TerminalOptions = {}): Promise<Terminal> {
		// Only here, because `npm start` runs without its packages.
		const { canReuseTerminals, Terminal } = await import("./terminal.ts");
		const args = [...this.args, ...(options.args ?? [])];
		const place = { cwd: this.cwd, env: this.env };
		// What pi knows of its terminal by variables it keeps as long as its process lives.
		const isFresh = this.#isFresh || !canReuseTerminals || "FORCE_COLOR" in this.env;
		const command = isFresh ? { ...place, file: node, args: [cli, ...args] } : { ...place, args, input: true };
		const terminal = new Terminal(this.#t, command, options);
		await terminal.ready();
		return terminal;
	}

	#run(more: readonly string[], input: boolean, first = this.args): Pi {
		const args = [...first, ...more];
		if (!this.#isFresh) return new Reused(this.#t, { args, cwd: this.cwd, env: this.env, input });
		return new Running(this.#t, this.cwd, this.env, args, input ? "pipe" : "ignore");
	}

	/** The labels of the `mark` calls that ran, in that order. */
	marks(): string[] {
		const file = join(this.cwd, "marks");
		return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
	}
}

/** A models.json with the scripted model. */
export function models(baseUrl: string, fields?: Record<string, unknown>): object {
	const cost = { input: 10, output: 100, cacheRead: 1, cacheWrite: 0 };
	const model = { id: "scripted", cost, contextWindow: 200_000, maxTokens: 8_000, ...fields };
	return { providers: { loopback: { baseUrl, api: "openai-completions", apiKey: "none", models: [model] } } };
}

/** Settings in which a retry does not wait. */
export function settings({ retry, compaction, ...others }: NonNullable<HostOptions["settings"]> = {}): object {
	return {
		defaultProvider: "loopback",
		defaultModel: "scripted",
		quietStartup: true,
		enableInstallTelemetry: false,
		retry: { baseDelayMs: 1, ...retry },
		compaction: { ...compaction },
		...others,
	};
}
