/** The one place where we listen to pi. */
import { refusal } from "../core/to-model.ts";
import { guardOf, isFirstLoaded } from "./claim.ts";
import { complete, DESCRIPTION } from "./command.ts";
import { handlersOf } from "./handlers.ts";
import { type Context, DISPOSED, NAME, orDisposed } from "./host.ts";
import type { Session } from "./session.ts";

/** Makes the session listen to pi. A handler that fails stops the run: a breaker that fails open is none. */
export function subscribe(session: Session): void {
	const { pi } = session;
	const handlers = handlersOf(session) as unknown as Record<string, (event: unknown, ctx: Context) => unknown>;
	const loading = isFirstLoaded(pi);
	const on = pi.on as (name: string, handler: (event: unknown, ctx: Context) => Promise<unknown>) => () => void;

	session.receive = async (name, event, ctx) => {
		try {
			await session.begin(ctx);
			loading.loaded();
			if (session.duty === "off") return undefined;
			if (session.duty === "unable") throw new Error("nobody guards this session");
			return await handlers[name]?.(event, ctx);
		} catch (error) {
			if (orDisposed(ctx) === DISPOSED) return await session.step({ type: "interrupted" }, DISPOSED);
			session.fail(error, name === "turn_start");
			if (name === "tool_call") return { block: true, reason: refusal(session.state) };
			ctx.abort();
			return undefined;
		}
	};
	const receiver = (name: string) => (event: unknown, ctx: Context) =>
		session.handover.isOver ? session.handover.forward(name, event) : session.receive(name, event, ctx);

	for (const name of Object.keys(handlers)) if (name !== "turn_end") on(name, receiver(name));
	session.listenToTurnEnd = () => on("turn_end", receiver("turn_end"));

	if (!loading.isFirst) return;
	session.options.loadedFirst?.();
	pi.registerCommand(NAME, {
		description: DESCRIPTION,
		getArgumentCompletions: complete,
		handler: async (args, ctx) => {
			await session.begin(ctx);
			await (guardOf(ctx.sessionManager) ?? session).command(args, ctx);
		},
	});
}
