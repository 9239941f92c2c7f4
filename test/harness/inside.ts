/** Pi in the test's own process against the scripted model: for what needs neither a terminal nor a process of its own. */
import fs, { mkdtempSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type {
	AgentSession,
	AgentSessionEvent,
	ExtensionError,
	ExtensionFactory,
	ExtensionContext,
	ExtensionUIContext,
} from "@earendil-works/pi-coding-agent";
import installed from "../../src/hosts/pi/extension.ts";
import { processMemory } from "../../src/hosts/pi/host/process.ts";
import { write } from "./folders.ts";
import { type HostOptions, models, settings } from "./host.ts";
import { text } from "./model.ts";
import { createAgentSession, DefaultResourceLoader, ModelRuntime, SessionManager, SettingsManager } from "./pi.ts";
import { Model } from "./server.ts";
import { noopTool, replaceVariables } from "./session.ts";
import { defer, type Scope, Watch } from "./wait.ts";

/** A dialog, as the person sees it. */
interface Asked {
	readonly title: string;
	readonly message: string;
	/** Aborted when the dialog is closed. */
	readonly signal: AbortSignal | undefined;
}

/** What a test can say about its session. */
export interface InsideOptions extends Pick<
	HostOptions,
	"model" | "summary" | "modelFields" | "settings" | "env" | "files" | "agentFiles"
> {
	/** Default: ours, as pi loads it. */
	extensions?: ExtensionFactory[];
	/** Somebody to ask, who answers every dialog. Without it nobody can be asked. */
	person?: (asked: Asked, n: number) => boolean | Promise<boolean>;
	/** Further members of the UI. */
	ui?: Partial<ExtensionUIContext>;
	/** Default: rpc with a person, else print. */
	mode?: ExtensionContext["mode"];
	/** The values of command-line flags, without their dashes. */
	flags?: Record<string, string>;
	/** A session that an earlier one has left. */
	sessionManager?: SessionManager;
	/** The way it begins. Default: at pi's start. `unbound`: as `createAgentSession` gives it. */
	begins?: "new" | "unbound";
	/** false: the program that embeds pi is another one than pi itself, so that exit code and stderr are not ours. */
	isPi?: boolean;
	/** false: an extension makes the session in pi's process. */
	isStartedByPi?: boolean;
}

/** A session in this process. */
export class Inside {
	readonly session: AgentSession;
	readonly model: Model;
	/** The folder that is the working directory and the agent directory. */
	readonly folder: string;
	readonly asked: Asked[] = [];
	readonly notifications: { message: string; type: string }[] = [];
	/** What our widget has shown: its line (in the terminal `drawn`), or undefined each time it was cleared. */
	readonly widgets: (string | undefined)[] = [];
	/** All but `message_update`. */
	readonly events: AgentSessionEvent[] = [];
	/** What extensions threw. */
	readonly errors: ExtensionError[] = [];
	readonly #watch = new Watch(() => this.events.map(({ type }) => type).join(" "));

	constructor(session: AgentSession, model: Model, folder: string) {
		this.session = session;
		this.model = model;
		this.folder = folder;
		session.subscribe((event) => {
			if (event.type !== "message_update") this.events.push(event);
			this.#watch.changed();
		});
	}

	/** Tells pi's extensions who is there. */
	async bind(options: Pick<InsideOptions, "person" | "ui" | "mode">): Promise<void> {
		const { person, ui } = options;
		const uiContext = {
			notify: (message: string, type = "info") => void this.notifications.push({ message, type }),
			setStatus: () => {},
			setWidget: (_key: string, widget?: string[] | object) =>
				void this.widgets.push(Array.isArray(widget) ? widget.join("\n") : widget && "drawn"),
			// There is no screen for a dialog of our own, so the question is asked by `confirm`.
			custom: () => Promise.reject(new Error("There is no screen.")),
			onTerminalInput: () => () => {},
			addAutocompleteProvider: () => {},
			getEditorText: () => "",
			confirm: async (title: string, message: string, options?: { signal?: AbortSignal }) => {
				const asked = { title, message, signal: options?.signal };
				const n = this.asked.push(asked);
				this.#watch.changed();
				return (await person?.(asked, n)) ?? false;
			},
			...ui,
		} as unknown as ExtensionUIContext;
		await this.session.bindExtensions({
			onError: (error) => this.errors.push(error),
			...(person || ui ? { uiContext } : {}),
			mode: modeOf(options),
		});
	}

	/** The first value that `look` gives other than undefined and false. */
	until<T>(what: string, look: () => T | undefined | false): Promise<T> {
		return this.#watch.until(what, look);
	}

	/** Prompts and waits until pi has settled; a slash command runs to its end. */
	async run(words: string): Promise<void> {
		const settled = this.#settled();
		await this.session.prompt(words);
		if (words.startsWith("/")) return;
		await this.until("the end of the run", () => this.#settled() > settled);
	}

	#settled(): number {
		return this.events.filter(({ type }) => type === "agent_settled").length;
	}

	/** The last message of the transcript that the model or pi has written. */
	get last() {
		return this.session.messages.findLast((message) => message.role === "assistant");
	}

	/** The entries of the session with a name. */
	entries(customType: string): unknown[] {
		const entries = this.session.sessionManager.getBranch();
		return entries.flatMap((entry) => (entry.type === "custom" && entry.customType === customType ? [entry.data] : []));
	}

	/** Ends the session as pi does when it quits. */
	async quit(): Promise<void> {
		await this.session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
	}
}

/** A session of pi in this process. */
export async function inside(t: Scope, options: InsideOptions = {}): Promise<Inside> {
	const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
	defer(t, () => rmSync(folder, { recursive: true, force: true }));
	const isPi = options.isPi ?? true;
	const variables = { PI_CODING_AGENT_DIR: folder, PI_OFFLINE: "1", ...(isPi ? { PI_CODING_AGENT: "true" } : {}) };
	defer(t, replaceVariables({ ...variables, ...options.env }));
	if (isPi) defer(t, becomePi());
	// Each session may stand for another process.
	const isStartedByPi = options.isStartedByPi ?? isPi;
	Object.assign(processMemory, { isPi: undefined, loadedAt: isStartedByPi ? undefined : 0 });
	const sessionManager = options.sessionManager ?? SessionManager.inMemory(folder);

	const model = new Model(options.model ?? [text("done")], options.summary ?? text("A summary."));
	const url = await model.listen(t);
	write(folder, { "models.json": models(url, options.modelFields), ...options.files, ...options.agentFiles });
	const modelRuntime = await ModelRuntime.create({
		authPath: join(folder, "auth.json"),
		modelsPath: join(folder, "models.json"),
	});
	const scripted = modelRuntime.getModel("loopback", "scripted");
	if (!scripted) throw new Error("There is no scripted model.");
	const settingsManager = SettingsManager.inMemory(settings(options.settings));
	const resourceLoader = new DefaultResourceLoader({
		cwd: folder,
		agentDir: folder,
		settingsManager,
		extensionFactories: options.extensions ?? [installed],
		noExtensions: true,
	});
	await resourceLoader.reload();
	const { session } = await createAgentSession({
		cwd: folder,
		agentDir: folder,
		modelRuntime,
		model: scripted,
		settingsManager,
		sessionManager,
		resourceLoader,
		noTools: "builtin",
		customTools: [noopTool],
		...(options.begins === "new" ? { sessionStartEvent: { type: "session_start", reason: "new" } } : {}),
	});
	defer(t, () => session.dispose());
	// As pi does between the loading of its extensions and the start of its first session.
	if (isStartedByPi) makeTheme();
	for (const [name, value] of Object.entries(options.flags ?? {})) session.extensionRunner.setFlagValue(name, value);
	const pi = new Inside(session, model, folder);
	if (options.begins !== "unbound") await pi.bind(options);
	return pi;
}

function modeOf({ person, ui, mode }: Pick<InsideOptions, "person" | "ui" | "mode">): ExtensionContext["mode"] {
	return mode ?? (person || ui ? "rpc" : "print");
}

/** Until the function that it gives is called, this process counts as pi's own, in which nothing has happened yet. */
function becomePi(): () => void {
	const { title, exitCode } = process;
	process.title = "pi";
	return () => {
		Object.assign(process, { title, exitCode });
		Object.assign(processMemory, { owner: undefined, inherited: undefined, exitCode: undefined, writeLine: undefined });
		Reflect.deleteProperty(globalThis, THEME);
		for (const map of [processMemory.legacies, processMemory.commands, processMemory.limits]) map.clear();
	};
}

const THEME = Symbol.for("@earendil-works/pi-coding-agent:theme");

export function makeTheme(): void {
	Object.assign(globalThis, { [THEME]: {} });
}

/** What the extension does to the process of this test, followed from now on. */
export class Followed {
	/** The codes with which the process would have ended. */
	readonly exits: (number | string | null | undefined)[] = [];
	/** Until the process would have ended. */
	stderr = "";
	stdout = "";
	readonly #before = process.listeners("exit");

	constructor(t: TestContext) {
		const { exitCode } = process;
		t.mock.method(console, "error", (line: string) => {
			if (this.exits.length === 0) this.stderr += `${line}\n`;
		});
		t.mock.method(process, "exit", (code?: number) => {
			if (this.exits.length === 0) this.end(code ?? 0);
			this.exits.push(code);
			throw new Error("The process ends.");
		});
		const { writeSync } = fs;
		const write = t.mock.method(fs, "writeSync", (fd: number, text: string, ...more: []) =>
			fd === 1 ? (this.stdout += text).length : writeSync(fd, text, ...more),
		);
		syncBuiltinESMExports();
		t.after(() => {
			write.mock.restore();
			syncBuiltinESMExports();
			for (const listener of this.listeners) process.off("exit", listener);
			process.exitCode = exitCode;
		});
	}

	/** What is to be called at the end of the process. */
	get listeners(): NodeJS.ExitListener[] {
		return process.listeners("exit").filter((listener) => !this.#before.includes(listener));
	}

	/** The code with which the process ends if pi has set this one. */
	end(code: number): unknown {
		process.exitCode = code;
		for (const listener of this.listeners) listener(code);
		return process.exitCode;
	}
}
