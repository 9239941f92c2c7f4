/** pi in the test's own process with pi's own faux model: for runs of thousands of turns. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { JsonObject } from "@earendil-works/pi-ai";
import { fauxAssistantMessage, fauxProvider, fauxText, fauxToolCall } from "@earendil-works/pi-ai/providers/faux";
import type {
	AgentSession,
	AgentSessionEvent,
	ExtensionError,
	ExtensionFactory,
	ExtensionUIContext,
	ToolDefinition,
} from "@earendil-works/pi-coding-agent";
import type { Reply } from "./model.ts";
import { createAgentSession, DefaultResourceLoader, ModelRuntime, SessionManager, SettingsManager } from "./pi.ts";
import { defer, within, type Scope } from "./wait.ts";

/** What a test can say about its session. */
export interface SessionOptions {
	/** The model: the reply to the nth turn. Of a reply it knows text, calls and failure. */
	reply: (n: number) => Reply;
	/**
	 * pi copies the whole transcript for every request, so 1,000 turns take 7 s and 3,000 take 75 s. With a window of 4,000 and
	 * `compaction: { reserveTokens: 1_000, keepRecentTokens: 100 }` it is 4 s and 20 s. Default: it never compacts.
	 */
	contextWindow?: number;
	extensions?: ExtensionFactory[];
	/** Somebody to ask: the dialogs the test answers; notifications, status and widgets go nowhere. Without it nobody can be asked. */
	ui?: Partial<ExtensionUIContext>;
	/** false: a session that no program has bound, as `createAgentSession` gives it. */
	bind?: boolean;
	settings?: Parameters<typeof SettingsManager.inMemory>[0];
	/** Takes the place of all variables that start with `PI_`. */
	env?: Record<string, string>;
}

/** A session in this process. */
export interface Session {
	session: AgentSession;
	/** All but `message_update`. */
	events: AgentSessionEvent[];
	/** What extensions threw. */
	errors: ExtensionError[];
	/** Prompts and waits until pi has settled. */
	prompt: (text: string, ms?: number) => Promise<void>;
	/** How many turns have been requested, summaries not counted. */
	turns: () => number;
}

/** Asks for one call of a tool that does nothing, the cheapest turn that does not end a run. */
export const noop: Reply = { calls: [{ name: "noop", args: {} }] };

export const noopTool: ToolDefinition = {
	name: "noop",
	label: "noop",
	description: "Does nothing.",
	parameters: { type: "object", properties: {} },
	execute: () => Promise.resolve({ content: [{ type: "text", text: "ok" }], details: undefined }),
};

/** A session with a model that answers at once. */
export async function session(t: Scope, options: SessionOptions): Promise<Session> {
	const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
	defer(t, () => rmSync(folder, { recursive: true, force: true }));
	defer(t, replaceVariables({ PI_CODING_AGENT_DIR: folder, PI_OFFLINE: "1", ...options.env }));

	const faux = fauxProvider({ models: [{ id: "faux", contextWindow: options.contextWindow ?? 1e9 }] });
	let turns = 0;
	const next = (): void =>
		faux.appendResponses([
			async ({ messages }) => {
				await setImmediate(); // or a run without end would let no timer fire, and never meet the deadline
				next();
				const summary = JSON.stringify(messages[0]).includes("summarization assistant");
				return message(summary ? { text: "A summary." } : options.reply(++turns));
			},
		]);
	next();
	const modelRuntime = await ModelRuntime.create({ authPath: join(folder, "auth.json"), modelsPath: null });
	modelRuntime.registerNativeProvider(faux.provider);

	const settingsManager = SettingsManager.inMemory({ retry: { baseDelayMs: 1 }, ...options.settings });
	const resourceLoader = new DefaultResourceLoader({
		cwd: folder,
		agentDir: folder,
		settingsManager,
		extensionFactories: options.extensions ?? [],
		noExtensions: true,
	});
	await resourceLoader.reload();
	const { session } = await createAgentSession({
		cwd: folder,
		agentDir: folder,
		modelRuntime,
		model: faux.getModel(),
		settingsManager,
		sessionManager: SessionManager.inMemory(folder),
		resourceLoader,
		noTools: "builtin",
		customTools: [noopTool],
	});
	defer(t, () => session.dispose());
	const events: AgentSessionEvent[] = [];
	session.subscribe((event) => {
		if (event.type !== "message_update") events.push(event);
	});
	const errors: ExtensionError[] = [];
	const onError = (error: ExtensionError): unknown => errors.push(error);
	const nowhere = { notify: () => {}, setStatus: () => {}, setWidget: () => {} };
	const uiContext = { ...nowhere, ...options.ui } as ExtensionUIContext;
	await session.bindExtensions(options.ui ? { onError, uiContext, mode: "rpc" } : { onError });
	const seen = (): string => [...errors.map(({ error }) => error), `${turns} turns`, events.at(-1)?.type].join("\n");
	const prompt = (text: string, ms?: number): Promise<void> =>
		within("the end of the run", session.prompt(text), seen, ms);
	return { session, events, errors, prompt, turns: () => turns };
}

function message({ text, calls = [], failure }: Reply): ReturnType<typeof fauxAssistantMessage> {
	if (failure) return fauxAssistantMessage("", { stopReason: "error", errorMessage: failure.message });
	const content = [
		...(text ? [fauxText(text)] : []),
		...calls.map(({ name, args }) => fauxToolCall(name, args as JsonObject)),
	];
	return fauxAssistantMessage(content, { stopReason: calls.length > 0 ? "toolUse" : "stop" });
}

/** Puts these in the place of all variables that start with `PI_`; gives the way back. */
export function replaceVariables(variables: Record<string, string>): () => void {
	const ours = Object.entries(process.env).filter(([name]) => name.startsWith("PI_"));
	const put = (entries: [string, string | undefined][]): void => {
		for (const name of Object.keys(process.env)) if (name.startsWith("PI_")) Reflect.deleteProperty(process.env, name);
		for (const [name, value] of entries) process.env[name] = value;
	};
	put(Object.entries(variables));
	return () => put(ours);
}
