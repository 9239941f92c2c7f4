/** Brings the breaker in line with the settings. */
import { transition } from "../../../core/breaker.ts";
import { amount } from "../../../core/amount.ts";
import { kindOf, METER_IDS, type MeterId } from "../../../core/meters.ts";
import type { State } from "../../../core/state.ts";
import type { Resolved } from "../../../settings/resolve.ts";
import type { Policies } from "../../../settings/options.ts";
import * as loop from "../../../loop/initial-state.ts";
import { type Charge, CHARGES, spentIn } from "../host/usage.ts";
import { type Context, NAME } from "../host/api.ts";
import type { Session } from "../session.ts";
import type { Agents } from "../../../loop/sharing/membership.ts";

/** A breaker that has counted nothing yet. Only the command changes the policy of limits that have one of their own. */
export function initialState(
	settings: Resolved,
	policies: Policies | undefined,
	attended: boolean,
	isMember = false,
): State {
	const own = settings.policy.source === `/${NAME}` ? undefined : policies;
	return loop.initialState(settings, own, attended, isMember);
}

/** A breaker for a session that may have spent something before. */
export function resumedState({ settings, options, role }: Session, attended: boolean, ctx: Context): State {
	const used = spentIn(ctx.sessionManager.getEntries());
	const state = initialState(settings.current, options.policies, attended, role.isMember);
	return transition(state, { type: "counted", used })[0];
}

/** By events, so that the core's rules for a change apply. */
export async function apply(session: Session, ctx: Context): Promise<void> {
	const { meters, grace, exempt } = initialState(
		session.settings.current,
		session.options.policies,
		session.state.attended,
	);
	for (const meter of METER_IDS) {
		const { max, policy } = meters[meter].limit;
		const now = session.state.meters[meter].limit;
		if (now.max !== max) await session.step({ type: "limit_set", meter, max }, ctx);
		if (now.policy !== policy) await session.step({ type: "policy_set", meter, policy }, ctx);
	}
	await session.step({ type: "grace_set", grace }, ctx);
	await session.step({ type: "exempt_set", exempt }, ctx);
	await readShared(session, ctx);
	warnOfUnknownAmounts(session, ctx.model, ctx);
}

/** Reads what is shared. Reports a fault and changes nothing; the next gate meets it. `isAsked`: by a person, who can wait. */
export async function readShared(
	{ driver, display }: Pick<Session, "driver" | "display">,
	ctx: Context,
	isAsked = false,
): Promise<Agents | undefined> {
	try {
		return await driver.readShared(ctx, isAsked);
	} catch (error) {
		display.warnOnce(`The shared budget cannot be read: ${(error as Error).message}`, ctx);
		return undefined;
	}
}

/** Warns once per model of a limit on an amount that pi does not report for it. */
export function warnOfUnknownAmounts(session: Session, model: Context["model"], ctx: Context): void {
	if (model === undefined) return;
	const charges: Partial<Record<string, Charge>> = CHARGES;
	for (const id of METER_IDS) {
		const { max } = session.state.meters[id].limit;
		const why = max === "unlimited" ? undefined : charges[kindOf(id).of]?.unknownFor?.(model);
		if (why !== undefined) session.display.warnOnce(unknownText(id, max, `${model.id} ${why}`), ctx);
	}
}

function unknownText(id: MeterId, max: number | "unlimited", why: string): string {
	return `${kindOf(id).title} of ${amount(id, max)} cannot be enforced: ${why}.`;
}
