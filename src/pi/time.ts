/** Charges the meter of time, and cuts off what exceeds it where nobody can be asked. */
import { isReached, read } from "../core/limit.ts";
import { type Context, orDisposed } from "./host.ts";
import type { Session } from "./session.ts";

export function chargeTime(session: Session, ctx: Context): Promise<void> | undefined {
	const time = session.clock.lap();
	return time > 0 ? session.step({ type: "charged", amounts: { time } }, ctx) : undefined;
}

/** The time that is left may run out in the middle of the turn or call that was just admitted. */
export function watchTime(session: Session, ctx: Context): void {
	const { attended, meters, phase } = session.state;
	const { remaining } = read(meters.time);
	if (attended || session.handover.hasLeft || phase.name === "idle" || remaining === "unlimited") return;
	session.clock.setAlarm(remaining, () => {
		runOut(session, ctx).catch((error: unknown) => {
			session.fail(error, false);
			orDisposed(ctx).abort();
		});
	});
}

async function runOut(session: Session, ctx: Context): Promise<void> {
	await chargeTime(session, ctx);
	await session.step({ type: "ran_out", meter: "time" }, ctx);
	// A dialog may have stopped the clock meanwhile.
	if (!isReached(session.state.meters.time)) watchTime(session, ctx);
}
