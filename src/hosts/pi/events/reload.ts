/** Hands a session over when pi reloads its extensions: the state, and what goes with it. */
import { isBusy, type State } from "../../../core/state.ts";
import type { Driver } from "../../../loop/driver.ts";
import { adopt } from "../../../loop/saved-state.ts";
import type { SharedFacts, SharedLimits } from "../../../loop/sharing/shared-limits.ts";
import type { TallyFacts } from "../../../loop/tally.ts";
import { type Context, DISPOSED } from "../host/api.ts";
import { type Duty, type Rank, release } from "../lifecycle/guard.ts";
import type { Handover, PendingHandover } from "../lifecycle/handover.ts";
import type { ReportFacts, Reports } from "../outcome/report.ts";
import type { Notices } from "../ui/notices.ts";
import type { PersonalOdds } from "../ui/odds.ts";
import type { Messages, Outbox } from "./outbox.ts";
import type { Prompt, Prompts } from "./prompts.ts";
import type { Turn, TurnFacts } from "./turn.ts";

const NOT_RELOADED =
	"pi has reloaded its extensions in the middle of a run, and this one was not loaded again: nothing limits the run.";

/** The version of what is handed over beside the state. Of another one, such as 2.0, which has none, the state alone is taken. */
const HANDED = 3;

/** The part of a session that the next instance takes over. Plain data, because that one may be of another version. */
export interface HandedOver {
	readonly version: number;
	readonly state: State;
	/** Its holds in the ledger included. */
	readonly shared: SharedFacts | undefined;
	readonly turn: TurnFacts;
	readonly reports: ReportFacts;
	readonly prompt: Prompt;
	/** False while a dialog is open. */
	readonly isWorking: boolean;
	readonly tally: TallyFacts;
	/** On their way to the model. */
	readonly messages: Messages;
}

/** The parts of a session that are handed over, and that it takes to do so. */
interface ReloadParts {
	readonly rank: Rank;
	readonly duty: Duty;
	readonly handover: Handover<HandedOver>;
	readonly driver: Driver<Context>;
	readonly shared: SharedLimits;
	readonly turn: Turn;
	readonly reports: Reports;
	readonly prompts: Prompts;
	readonly outbox: Outbox;
	readonly notices: Notices;
	readonly odds: PersonalOdds;
}

export class Reload {
	readonly #parts: ReloadParts;

	constructor(parts: ReloadParts) {
		this.#parts = parts;
	}

	/** What still reaches this instance waits for the next one. */
	leave({ sessionManager, hasUI, ui }: Context): void {
		const { rank, duty, handover, driver, shared, turn, reports, prompts, outbox, notices } = this.#parts;
		// Two reloads at once end us twice.
		if (handover.hasLeft) return;
		release(sessionManager);
		// It has aborted every run before the gate, so there is nothing to hand over.
		if (duty.name === "unable") return;
		const { state } = driver;
		const messages = outbox.giveAway();
		const { isWorking, tally } = driver.leave((event) => handover.step(event));
		const handedOver: HandedOver = {
			version: HANDED,
			state,
			shared: shared.giveAway(),
			turn: turn.facts,
			reports: reports.facts,
			prompt: prompts.prompt,
			messages,
			isWorking,
			tally,
		};
		const isRunning = isBusy(state);
		const done = (): void => driver.closeQuestion();
		// The context is dead by then; what it has shown things with is not.
		const missed = (): void => notices.say(NOT_RELOADED, "error", { ...DISPOSED, hasUI, ui });
		handover.leave(sessionManager.getSessionId(), rank, handedOver, isRunning, { done, missed });
	}

	/** Begins with what the last instance left of this session, and returns that; otherwise with `fresh`. */
	async begin(fresh: State, ctx: Context): Promise<PendingHandover<HandedOver> | undefined> {
		const { handover, rank, driver } = this.#parts;
		const handed = handover.take(ctx.sessionManager.getSessionId(), rank);
		if (handed === undefined) {
			driver.resume(fresh, { isWorking: false }, ctx);
			return undefined;
		}
		const { version, isWorking, tally } = handed;
		const state = adopt(fresh, handed.state);
		if (version === HANDED) await this.#takeOver(handed, state);
		else await endShares(handed);
		driver.resume(state, { isWorking, tally: version === HANDED ? tally : undefined }, ctx);
		return handed;
	}

	async #takeOver({ shared, turn, reports, prompt, messages }: HandedOver, { meters }: State): Promise<void> {
		const parts = this.#parts;
		parts.turn.takeOver(turn);
		parts.reports.takeOver(reports);
		parts.prompts.takeOver(prompt);
		parts.outbox.takeOver(messages);
		await parts.shared.takeOver(shared, meters);
		await parts.odds.prepare();
	}
}

/** Ends what an instance of version 2.0 holds in the ledger: nobody else does. */
async function endShares(handed: object): Promise<void> {
	const { shares } = handed as { readonly shares?: { endRun?: () => Promise<unknown> } };
	await shares?.endRun?.();
}
