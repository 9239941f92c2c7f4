/** What the scripted model says and what it is asked. */

/** What the model answers. Combine by spreading: `{ ...text("Let me look."), ...mark(), usage: { prompt: 9000 } }`. */
export interface Reply {
	/** What the model thinks before it says something. */
	thinking?: string;
	text?: string;
	calls?: readonly Call[];
	/** Default: `tool_calls` when there are calls, otherwise `stop`. */
	stop?: "stop" | "length" | "tool_calls" | "content_filter";
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

/** Thinks; alone it is a reply without an answer. */
export function thinks(words: string): Reply {
	return { thinking: words };
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

/** The body of a chat-completions request. */
export interface Body {
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
