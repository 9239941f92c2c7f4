/** The scripted model: an HTTP server on loopback that streams OpenAI chat completions and records every request. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { defer, Watch } from "./wait.ts";

/** What the model answers. Combine by spreading: `{ ...text("Let me look."), ...mark(), usage: { prompt: 9000 } }`. */
export interface Reply {
	text?: string;
	calls?: readonly Call[];
	/** Default: `tool_calls` when there are calls, otherwise `stop`. */
	stop?: "stop" | "length" | "tool_calls";
	/** Tokens that the reply reports. By default 500 and 50, which cost one cent at the sandbox's prices. */
	usage?: { prompt?: number; completion?: number };
	/** An HTTP failure in place of an answer. */
	failure?: { status: number; message: string };
	/** The connection breaks after the text, before the stop reason. */
	cut?: boolean;
	/** The text is sent, the rest (or the failure) waits for this. See `held`. */
	until?: Promise<void>;
}

/** A tool call that the model asks for. */
export interface Call {
	name: string;
	args: Record<string, unknown>;
}

/**
 * The replies to the turns, in order (a turn beyond the list gets HTTP 400), or a function of the request and of
 * how many turn requests, failed ones included, have arrived. Summaries and cache warming have replies of their own.
 */
export type Script = readonly Reply[] | ((request: Request, n: number) => Reply | Promise<Reply>);

/** Answers with words. */
export function text(words: string): Reply {
	return { text: words };
}

/** Asks for tool calls. */
export function calls(...list: Call[]): Reply {
	return { calls: list };
}

/** Asks for one bash call per label, each of which leaves its label on disk; `pi.marks()` tells which calls ran. */
export function mark(...labels: string[]): Reply {
	return calls(...(labels.length > 0 ? labels : ["x"]).map((label) => bash(`echo ${label} >> marks`)));
}

/** A call of pi's bash tool. */
export function bash(command: string): Call {
	return { name: "bash", args: { command } };
}

/** An HTTP failure. pi decides by the message whether to try again: it does so by default from status 429 on. */
export function fail(status: number, message = status < 429 ? "Bad request" : "Overloaded"): Reply {
	return { failure: { status, message } };
}

/** The failure by which a provider says that the context is too long; pi compacts and tries again. */
export function overflow(): Reply {
	return fail(400, "This model's maximum context length is 1000 tokens.");
}

/** The same reply for ever. */
export function endless(reply: Reply = mark()): Script {
	return () => reply;
}

/** The same reply a number of times, to be spread into a list. */
export function times(n: number, reply: Reply = mark()): Reply[] {
	return Array.from({ length: n }, () => reply);
}

/** A reply whose end waits for `release()`. */
export function held(reply: Reply = mark()): Reply & { release: () => void } {
	let release = (): void => {};
	const until = new Promise<void>((resolve) => (release = resolve));
	return { ...reply, until, release };
}

interface Message {
	role: string;
	content?: string | { type: string; text?: string }[] | null;
	tool_calls?: { function: { name: string; arguments: string } }[];
}

interface Body {
	messages: Message[];
	tools?: { function: { name: string } }[];
	max_tokens?: number;
	max_completion_tokens?: number;
	[key: string]: unknown;
}

/** A request that left pi. */
export class Request {
	readonly body: Body;
	/** Whether pi hung up before the answer was complete. */
	aborted = false;

	constructor(body: Body) {
		this.body = body;
	}

	/** A turn of the agent, a summary (compaction, branch) or a cache-warming copy of a turn. */
	get kind(): "turn" | "summary" | "warming" {
		if ((this.body.max_tokens ?? this.body.max_completion_tokens) === 1) return "warming";
		return this.texts("system", "developer").some((t) => /summarization assistant/.test(t)) ? "summary" : "turn";
	}

	/** The text of every message, or of those with one of the roles. */
	texts(...roles: string[]): string[] {
		const messages = this.body.messages.filter((m) => roles.length === 0 || roles.includes(m.role));
		return messages.map(({ content }) =>
			typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(""),
		);
	}

	/** The text of the last message. */
	get last(): string {
		return this.texts().at(-1) ?? "";
	}

	/** How many messages contain the words. */
	count(words: string): number {
		return this.texts().filter((t) => t.includes(words)).length;
	}
}

/** A running scripted model. */
export class Model {
	/** Every request, in the order of arrival. */
	readonly requests: Request[] = [];
	readonly #script: Script;
	readonly #summary: Reply;
	readonly #watch = new Watch(() => this.requests.map((r, i) => `${i + 1} ${r.kind}: ${r.last}`).join("\n"));

	constructor(script: Script, summary: Reply) {
		this.#script = script;
		this.#summary = summary;
	}

	get turns(): Request[] {
		return this.requests.filter((r) => r.kind === "turn");
	}

	get summaries(): Request[] {
		return this.requests.filter((r) => r.kind === "summary");
	}

	get warmings(): Request[] {
		return this.requests.filter((r) => r.kind === "warming");
	}

	/** The nth request of a kind, from 1, as soon as it has arrived. */
	arrival(n: number, kind: "turns" | "summaries" | "warmings" | "requests" = "turns"): Promise<Request> {
		return this.#watch.until(`number ${n} of the ${kind}`, () => this[kind][n - 1]);
	}

	/** Serves the script until the test is over; gives the base URL of the API. */
	async listen(t: TestContext): Promise<string> {
		const server = createServer((incoming, response) => {
			let json = "";
			incoming.setEncoding("utf8").on("data", (part: string) => (json += part));
			incoming.on("end", () => void this.#answer(JSON.parse(json) as Body, response));
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		defer(t, async () => {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		});
		return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
	}

	async #answer(body: Body, response: ServerResponse): Promise<void> {
		const request = new Request(body);
		const n = this.requests.push(request);
		response.on("close", () => (request.aborted = !response.writableFinished));
		const reply = this.#replyTo(request);
		this.#watch.changed();
		await send(await reply, response, n);
	}

	async #replyTo(request: Request): Promise<Reply> {
		if (request.kind === "summary") return this.#summary;
		if (request.kind === "warming") return text("ok");
		const n = this.turns.length;
		if (typeof this.#script === "function") return this.#script(request, n);
		return this.#script[n - 1] ?? fail(400, `The script has no reply for turn ${n}.`);
	}
}

async function send(reply: Reply, response: ServerResponse, id: number): Promise<void> {
	if (reply.failure) {
		await reply.until;
		response.writeHead(reply.failure.status, { "content-type": "application/json" });
		response.end(JSON.stringify({ error: { message: reply.failure.message } }));
		return;
	}
	const chunk = (fields: object): void => {
		const object = { id: `reply_${id}`, object: "chat.completion.chunk", created: 0, model: "scripted", ...fields };
		response.write(`data: ${JSON.stringify(object)}\n\n`);
	};
	const delta = (fields: object, finish_reason: string | null = null): void =>
		chunk({ choices: [{ index: 0, delta: fields, finish_reason }] });
	response.writeHead(200, { "content-type": "text/event-stream" });
	delta({ role: "assistant", content: reply.text ?? "" });
	await reply.until;
	if (reply.cut) {
		await new Promise((flushed) => response.write(":\n\n", flushed));
		response.destroy();
	}
	if (response.destroyed) return;
	const list = reply.calls ?? [];
	list.forEach(({ name, args }, index) => {
		const call = { index, id: `call_${id}_${index}`, type: "function" };
		delta({ tool_calls: [{ ...call, function: { name, arguments: JSON.stringify(args) } }] });
	});
	delta({}, reply.stop ?? (list.length > 0 ? "tool_calls" : "stop"));
	const { prompt = 500, completion = 50 } = reply.usage ?? {};
	const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
	chunk({ choices: [], usage });
	response.end("data: [DONE]\n\n");
}
