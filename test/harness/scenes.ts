/** Something that happens in the middle of a run. */
import { host, type Host, type HostOptions } from "./host.ts";
import { fail, held, type Reply, type Request, type Script } from "./model.ts";
import type { Rpc, RpcOptions } from "./rpc.ts";
import type { Scope } from "./wait.ts";

/** Over rpc: one run, in which something happens while the model gives its nth reply. */
export async function during(
	t: Scope,
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
