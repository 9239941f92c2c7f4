/** A client of `pi --mode rpc` that records what it is told and answers dialogs as the test says. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Pi, Result } from "./process.ts";

/** A record of pi's JSON streams. */
export interface Event {
	type: string;
	[field: string]: unknown;
}

/** How a dialog is answered; undefined leaves it open, an object is sent as it is. */
export type Answer = "yes" | "no" | "ignore" | ((question: Question, n: number) => boolean | object | undefined);

/** How the client behaves. By default dialogs stay open until the test answers them. */
export interface RpcOptions {
	answer?: Answer;
	args?: readonly string[];
}

/** A dialog that pi has opened. */
export interface Question {
	method: string;
	title: string;
	message: string | undefined;
	timeout: number | undefined;
	yes: () => void;
	no: () => void;
	cancel: () => void;
	/** Sends any fields as the answer. */
	answer: (fields: object) => void;
}

/** A running rpc client. */
export class Rpc {
	/** Session events and extension errors, in order. */
	readonly events: Event[] = [];
	readonly questions: Question[] = [];
	readonly notifications: { message: string; type: string }[] = [];
	readonly #pi: Pi;
	readonly #answer: Answer;
	readonly #responses = new Map<string, Event>();
	readonly #widgets: Event[] = [];
	#commands = 0;
	#rest = "";
	#asked = 0;
	#since = 0;

	constructor(pi: Pi, answer: Answer) {
		this.#pi = pi;
		this.#answer = answer;
		pi.onOutput((part) => {
			const lines = (this.#rest + part).split("\n");
			this.#rest = lines.pop() ?? "";
			for (const line of lines) this.#receive(JSON.parse(line) as Event);
			pi.watch.changed();
		});
	}

	/** The errors that extensions threw. */
	get errors(): Event[] {
		return this.events.filter((event) => event.type === "extension_error");
	}

	/** What a widget has shown: lines, or undefined each time it was cleared. */
	widgets(key = "turn-limit"): (string[] | undefined)[] {
		const ours = this.#widgets.filter((event) => event["widgetKey"] === key);
		return ours.map((event) => event["widgetLines"] as string[] | undefined);
	}

	/** Sends a command and gives the data of its response; fails if pi refuses it. */
	async send(command: { type: string; [field: string]: unknown }): Promise<unknown> {
		const id = `command-${++this.#commands}`;
		this.#write({ id, ...command });
		const response = await this.until(`response to ${command.type}`, () => this.#responses.get(id));
		if (response["success"] !== true) throw new Error(`${command.type}: ${String(response["error"])}`);
		return response["data"];
	}

	/** Prompts; resolves when pi has accepted it, or has run it if it is a slash command of an extension. */
	async prompt(message: string): Promise<void> {
		this.#since = this.events.length;
		await this.send({ type: "prompt", message });
	}

	/** Prompts and waits until pi has settled. */
	async run(message: string): Promise<void> {
		await this.prompt(message);
		await this.settled();
	}

	async steer(message: string): Promise<void> {
		await this.send({ type: "steer", message });
	}

	async followUp(message: string): Promise<void> {
		await this.send({ type: "follow_up", message });
	}

	/** Aborts; resolves when pi is idle. */
	async abort(): Promise<void> {
		await this.send({ type: "abort" });
	}

	async newSession(): Promise<void> {
		await this.send({ type: "new_session" });
	}

	/** The first `agent_settled` since the last prompt that no earlier call has given. */
	async settled(): Promise<void> {
		await this.event("agent_settled");
	}

	/** The first event of a type since the last prompt, or since the event that the previous call gave. */
	async event(type: string): Promise<Event> {
		const at = await this.until(type, () => {
			const index = this.events.findIndex((event, i) => i >= this.#since && event.type === type);
			return index >= 0 && index + 1;
		});
		this.#since = at;
		return this.events[at - 1] as Event;
	}

	/** The next dialog, open or already answered. */
	question(): Promise<Question> {
		const n = this.#asked++;
		return this.until(`question ${n + 1}`, () => this.questions[n]);
	}

	/** The first value that `look` gives other than undefined and false; it looks at every record of pi. */
	until<T>(what: string, look: () => T | undefined | false): Promise<T> {
		return this.#pi.watch.until(what, look);
	}

	/** Goes away, as a client that closes its end does; gives how pi ended. */
	close(): Promise<Result> {
		this.#pi.closeInput();
		return this.#pi.ended();
	}

	#write(record: object): void {
		this.#pi.write(`${JSON.stringify(record)}\n`);
	}

	#receive(event: Event): void {
		if (event.type === "response") this.#responses.set(String(event["id"]), event);
		else if (event.type === "extension_ui_request") this.#show(event);
		else this.events.push(event);
	}

	#show(request: Event): void {
		const { id, method, title, message, timeout, notifyType } = request as unknown as Dialog;
		if (method === "notify") this.notifications.push({ message, type: notifyType ?? "info" });
		else if (method === "setWidget") this.#widgets.push(request);
		else if (["confirm", "select", "input", "editor"].includes(method)) {
			const answer = (fields: object): void => this.#write({ type: "extension_ui_response", id, ...fields });
			this.#ask({
				...{ method, title, message, timeout, answer },
				yes: () => answer({ confirmed: true }),
				no: () => answer({ confirmed: false }),
				cancel: () => answer({ cancelled: true }),
			});
		}
	}

	#ask(question: Question): void {
		const n = this.questions.push(question);
		const answer = typeof this.#answer === "function" ? this.#answer(question, n) : this.#answer;
		if (answer === "yes" || answer === true) question.yes();
		else if (answer === "no" || answer === false) question.no();
		else if (typeof answer === "object") question.answer(answer);
	}
}

interface Dialog {
	id: string;
	method: string;
	title: string;
	message: string;
	timeout: number;
	notifyType?: string;
}

/** An extension to load beside ours, by which `rpc.prompt("/reload-now")` reloads, also in the middle of a run. */
export function reloader(pi: ExtensionAPI): void {
	pi.registerCommand("reload-now", { handler: (_args, ctx) => ctx.reload() });
}
