/** Stands between an agent and its server, and breaks what is between them. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { defer, type Scope, Watch } from "../harness/wait.ts";

/**
 * open: passes everything on. frozen: accepts connections and passes nothing on. cut: accepts connections and closes
 * them. deaf: passes requests on, and no answers. hangs up: passes requests on, and closes when an answer comes.
 */
type Mode = "open" | "frozen" | "cut" | "deaf" | "hangs up";

export class Proxy {
	readonly #server: Server;
	readonly #pairs = new Set<readonly [Socket, Socket]>();
	readonly #watch = new Watch(() => `${this.accepted} connections accepted, ${this.#swallowed} answers swallowed`);
	#mode: Mode = "open";
	accepted = 0;
	/** What agents have sent. */
	sent = "";
	#swallowed = 0;
	/** Where the server is. */
	target: number;
	readonly port: number;

	private constructor(server: Server, target: number) {
		this.#server = server;
		this.target = target;
		this.port = (server.address() as AddressInfo).port;
		server.on("connection", (client: Socket) => this.#accept(client));
	}

	static async make(t: Scope, target: number): Promise<Proxy> {
		const server = createServer().listen(0, "127.0.0.1");
		await once(server, "listening");
		const proxy = new Proxy(server, target);
		defer(t, () => proxy.refuse());
		return proxy;
	}

	/** New connections, and those that there are. What was held back is passed on when it is open again. */
	set(mode: Mode): void {
		this.#mode = mode;
		for (const pair of this.#pairs) {
			if (mode === "cut") for (const socket of pair) socket.destroy();
			this.#flow(pair);
		}
	}

	/** As a host on which nothing listens. */
	async refuse(): Promise<void> {
		this.set("cut");
		if (!this.#server.listening) return;
		this.#server.close();
		await once(this.#server, "close");
	}

	async restore(): Promise<void> {
		this.#mode = "open";
		this.#server.listen(this.port, "127.0.0.1");
		await once(this.#server, "listening");
	}

	/** Waits for so many connections from now on. */
	async accepts(times: number): Promise<void> {
		const before = this.accepted;
		await this.#watch.until(`${times} connections`, () => this.accepted >= before + times);
	}

	/** Waits until an answer did not get through. */
	async swallows(): Promise<void> {
		const before = this.#swallowed;
		await this.#watch.until("an answer", () => this.#swallowed > before);
	}

	#accept(client: Socket): void {
		client.on("error", () => {});
		this.accepted++;
		this.#watch.changed();
		if (this.#mode === "cut") return void client.destroy();
		const server = connect(this.target, "127.0.0.1").on("error", () => {});
		const pair = [client, server] as const;
		this.#pairs.add(pair);
		client.on("close", () => (server.destroy(), this.#pairs.delete(pair)));
		server.on("close", () => client.destroy());
		client.on("data", (part) => {
			this.sent += part.toString("latin1");
			server.write(part);
		});
		server.on("data", (part) => this.#answer(client, part));
		this.#flow(pair);
	}

	#flow([client, server]: readonly [Socket, Socket]): void {
		for (const socket of [client, server]) {
			if (this.#mode === "frozen") socket.pause();
			else socket.resume();
		}
	}

	#answer(client: Socket, part: Buffer): void {
		if (this.#mode === "open") return void client.write(part);
		if (this.#mode === "hangs up") client.destroy();
		this.#swallowed++;
		this.#watch.changed();
	}
}
