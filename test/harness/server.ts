/** The scripted model: an HTTP server on loopback that streams OpenAI chat completions and records every request. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fail, Request, text, type Body, type Reply, type Script } from "./model.ts";
import { defer, Watch, type Scope } from "./wait.ts";

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
	async listen(t: Scope): Promise<string> {
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
		const object = {
			id: `reply_${id}`,
			object: "chat.completion.chunk",
			created: 0,
			model: "scripted",
			...fields,
		};
		response.write(`data: ${JSON.stringify(object)}\n\n`);
	};
	const delta = (fields: object, finish_reason: string | null = null): void =>
		chunk({ choices: [{ index: 0, delta: fields, finish_reason }] });
	response.writeHead(200, { "content-type": "text/event-stream" });
	if (reply.thinking !== undefined) delta({ role: "assistant", reasoning_content: reply.thinking });
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
