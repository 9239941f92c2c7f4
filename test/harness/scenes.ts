/** What tests of whole runs have in common: how a run ended, and something that happens in the middle of one. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Outcome } from "../../src/core/outcome.ts";
import { host, type Host, type HostOptions } from "./host.ts";
import { fail, held, type Reply, type Request, type Script } from "./model.ts";
import type { Rpc, RpcOptions } from "./rpc.ts";

/** An extension to load beside ours: it writes every outcome that ours publishes into the working directory. */
export function recorder(pi: ExtensionAPI): void {
	pi.events.on("turn-limit:outcome", (outcome) => {
		process.getBuiltinModule("node:fs").appendFileSync("outcomes", `${JSON.stringify(outcome)}\n`);
	});
}

/** What the recorder wrote: how each run ended. */
export function outcomes({ cwd }: Host): Outcome[] {
	const file = join(cwd, "outcomes");
	const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
	return lines.map((line) => JSON.parse(line) as Outcome);
}

/** Over rpc: one run, in which something happens while the model gives its nth reply. */
export async function during(
	t: TestContext,
	n: number,
	happens: (rpc: Rpc, pi: Host) => Promise<unknown>,
	options: HostOptions & { model: Script } & Pick<RpcOptions, "answer">,
): Promise<{ pi: Host; rpc: Rpc }> {
	const { model, answer = "ignore", ...others } = options;
	const { until, release } = held();
	const replyTo = async (request: Request, turn: number): Promise<Reply> =>
		typeof model === "function" ? await model(request, turn) : (model[turn - 1] ?? fail(400, "beyond the script"));
	const slow = async (request: Request, turn: number): Promise<Reply> => {
		const reply = await replyTo(request, turn);
		return turn === n && until ? { ...reply, until } : reply;
	};
	const pi = await host(t, { ...others, model: slow });
	const rpc = await pi.rpc({ answer });
	await rpc.prompt("go");
	await pi.model.arrival(n);
	await happens(rpc, pi);
	release();
	await rpc.settled();
	return { pi, rpc };
}
