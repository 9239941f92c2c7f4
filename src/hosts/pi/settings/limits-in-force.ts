/** Brings the breaker in line with the settings. */
import { transition } from "../../../core/breaker.ts";
import { amount } from "../../../core/amount.ts";
import { kindOf, METER_IDS, type MeterId } from "../../../core/meters.ts";
import type { State } from "../../../core/state.ts";
import type { Driver } from "../../../loop/driver.ts";
import { initialState } from "../../../loop/initial-state.ts";
import type { Shared } from "../../../loop/sharing/reservation.ts";
import type { Policies } from "../../../settings/options.ts";
import { clip } from "../../../core/text.ts";
import { type Assistant, COMMAND, type Context } from "../host/api.ts";
import { type Charge, CHARGES, spentIn } from "../host/usage.ts";
import type { SessionSettings } from "./session-settings.ts";

/** Shows a warning, once. */
interface Warnings {
	warnOnce(message: string, ctx: Context): void;
}

/** The settings of one session, and the breaker that follows them. */
export class LimitsInForce {
	readonly #settings: SessionSettings;
	readonly #driver: Driver<Context>;
	readonly #notices: Warnings;
	readonly #policies: Policies | undefined;

	constructor(settings: SessionSettings, driver: Driver<Context>, notices: Warnings, policies: Policies | undefined) {
		this.#settings = settings;
		this.#driver = driver;
		this.#notices = notices;
		this.#policies = policies;
	}

	/** The state of a session that may have spent something before. */
	resumedState(attended: boolean, isMember: boolean, { sessionManager }: Context): State {
		const state = this.#initialState(attended, isMember);
		return transition(state, { type: "counted", used: spentIn(sessionManager.getEntries()) })[0];
	}

	/** Only the command changes the policy of limits that have one of their own. */
	#initialState(attended: boolean, isMember: boolean): State {
		const settings = this.#settings.current;
		const policies = settings.policy.source === COMMAND ? undefined : this.#policies;
		return initialState(settings, policies, attended, isMember);
	}

	/** By events, so that the core's rules for a change apply. */
	async apply(ctx: Context): Promise<void> {
		const driver = this.#driver;
		const wanted = this.#initialState(driver.state.attended, driver.state.isMember);
		for (const meter of METER_IDS) {
			const { max, policy } = wanted.meters[meter].limit;
			const now = driver.state.meters[meter].limit;
			if (now.max !== max) await driver.step({ type: "limit_set", meter, max }, ctx);
			if (now.policy !== policy) await driver.step({ type: "policy_set", meter, policy }, ctx);
		}
		await driver.step({ type: "grace_set", grace: wanted.grace }, ctx);
		await driver.step({ type: "exempt_set", exempt: wanted.exempt }, ctx);
		await this.readShared(ctx);
		this.warnOfUnknownAmounts(ctx.model, ctx);
	}

	/** A person may have come or gone: other defaults apply. */
	async attend(attended: boolean, ctx: Context): Promise<void> {
		if (this.#driver.state.attended === attended) return;
		this.#settings.attend(attended);
		await this.#driver.step({ type: "attended_set", attended }, ctx);
		await this.apply(ctx);
	}

	/** Reads what is shared. Reports a fault and changes nothing; the next gate meets it. `isAsked`: by a person, who can wait. */
	async readShared(ctx: Context, isAsked = false): Promise<Shared | undefined> {
		try {
			return await this.#driver.readShared(ctx, isAsked);
		} catch (error) {
			this.#notices.warnOnce(`The shared budget cannot be read: ${clip((error as Error).message, 300)}`, ctx);
			return undefined;
		}
	}

	/** Warns once per model of a limit on an amount that pi does not know for it. */
	warnOfUnknownAmounts(model: Context["model"], ctx: Context): void {
		if (model !== undefined) this.#warnOf(model.id, ({ unknownFor }) => unknownFor?.(model), ctx);
	}

	/** The same where a reply lacks the amount: only replies show what a virtual model, or a provider with its own prices, reports. */
	warnOfMissingAmounts({ model, usage }: Assistant, ctx: Context): void {
		this.#warnOf(model, ({ unknownIn }) => unknownIn?.(usage), ctx);
	}

	#warnOf(model: string, whyOf: (charge: Charge) => string | undefined, ctx: Context): void {
		const charges: Partial<Record<string, Charge>> = CHARGES;
		for (const id of METER_IDS) {
			const { max } = this.#driver.state.meters[id].limit;
			const charge = max === "unlimited" ? undefined : charges[kindOf(id).of];
			const why = charge && whyOf(charge);
			if (why !== undefined) this.#notices.warnOnce(unknownText(id, max, `${clip(model, 60)} ${why}`), ctx);
		}
	}
}

function unknownText(id: MeterId, max: number | "unlimited", why: string): string {
	return `${kindOf(id).title} of ${amount(id, max)} cannot be enforced: ${why}.`;
}
