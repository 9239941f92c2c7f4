/** Hands a session over when pi reloads its extensions: the state, and what goes with it. */
import type { State } from "../../../core/state.ts";
import type { Driver } from "../../../loop/driver.ts";
import { adopt } from "../../../loop/saved-state.ts";
import type { Reservations } from "../../../loop/sharing/reservation.ts";
import type { SharedLimits } from "../../../loop/sharing/shared-limits.ts";
import type { Tally } from "../../../loop/tally.ts";
import { type Context, DISPOSED } from "../host/api.ts";
import { type Duty, type Rank, release } from "../lifecycle/guard.ts";
import type { Handover, PendingHandover } from "../lifecycle/handover.ts";
import type { ReportFacts, Reports } from "../outcome/report.ts";
import type { Notices } from "../ui/notices.ts";
import type { Messages, Outbox } from "./outbox.ts";
import type { Prompt, Prompts } from "./prompts.ts";
import type { Turn, TurnFacts } from "./turn.ts";

const NOT_RELOADED =
	"pi has reloaded its extensions in the middle of a run, and this one was not loaded again: nothing limits the run.";

/** The version of what is handed over. Of another one, such as 2.0, which has none, only the breaker's counts are taken. */
const HANDED = 3;

/** The part of a session that the next instance takes over. */
export interface HandedOver {
	readonly version: number;
	readonly state: State;
	/** Its holds in the ledger included. */
	readonly shares: Reservations | undefined;
	readonly turn: TurnFacts;
	readonly reports: ReportFacts;
	readonly prompt: Prompt;
	/** False while a dialog is open. */
	readonly isWorking: boolean;
	readonly tally: Tally;
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
		const { phase, ...state } = driver.state;
		const messages = outbox.giveAway();
		const { isWorking, tally } = driver.leave((event) => handover.step(event));
		const handedOver: HandedOver = {
			version: HANDED,
			// The next instance asks again.
			state: { ...state, phase: phase.name === "asking" ? { name: "running", run: phase.run } : phase },
			shares: shared.giveAway(),
			turn: turn.facts,
			reports: reports.facts,
			prompt: prompts.prompt,
			messages,
			isWorking,
			tally,
		};
		const isRunning = phase.name !== "idle";
		const done = (): void => driver.closeQuestion();
		// The context is dead by then; what it has shown things with is not.
		const missed = (): void => notices.say(NOT_RELOADED, "error", { ...DISPOSED, hasUI, ui });
		handover.leave(sessionManager.getSessionId(), rank, handedOver, isRunning, { done, missed });
	}

	/** What the last instance has left of this session. */
	take({ sessionManager }: Context): PendingHandover<HandedOver> | undefined {
		const { handover, rank } = this.#parts;
		return handover.take(sessionManager.getSessionId(), rank);
	}

	/** Gives the state to go on with. `fresh`: of a session that nobody has left. */
	async takeOver(handed: HandedOver, fresh: State): Promise<State> {
		const { version, state, shares, turn, reports, prompt, messages } = handed;
		if (version !== HANDED) {
			// Nobody else ends what an instance of another version holds in the ledger.
			await (shares as { endRun?: () => Promise<unknown> } | undefined)?.endRun?.();
			return adopt(fresh, state);
		}
		const parts = this.#parts;
		parts.shared.takeOver(shares);
		parts.turn.takeOver(turn);
		parts.reports.takeOver(reports);
		parts.prompts.takeOver(prompt);
		parts.outbox.takeOver(messages);
		return state;
	}
}
