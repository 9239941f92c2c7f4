/** Pi as a host of the driver: carries out the breaker's effects. */
import type { MeterId } from "../../core/meters.ts";
import type { Outcome } from "../../core/outcome.ts";
import type { State } from "../../core/state.ts";
import type { Host, OpenQuestion } from "../../loop/port.ts";
import { questionAbout } from "../../loop/question.ts";
import { debtText } from "../../loop/sharing/debt-text.ts";
import type { DebtLeft } from "../../loop/sharing/unsettled.ts";
import type { Tally } from "../../loop/tally.ts";
import { readMessage } from "../../settings/supplied.ts";
import type { Outbox } from "./events/outbox.ts";
import type { Turn } from "./events/turn.ts";
import type { TurnEvents } from "./events/turn-events.ts";
import { type Context, DISPOSED, GUIDANCE, NAME, orDisposed, type Pi } from "./host/api.ts";
import type { Role } from "./lifecycle/root-or-member.ts";
import type { SessionOptions } from "./options.ts";
import type { Reports } from "./outcome/report.ts";
import type { Announcement } from "./settings/agent-tree.ts";
import type { SessionSettings } from "./settings/session-settings.ts";
import { callText, type Tool } from "./ui/call-text.ts";
import type { Notices } from "./ui/notices.ts";
import type { PersonalOdds } from "./ui/odds.ts";
import { ask } from "./ui/question.ts";

/** The parts of a session that effects reach. */
interface EffectParts {
	readonly pi: Pick<Pi, "getAllTools">;
	readonly role: Role;
	readonly settings: SessionSettings;
	readonly announcement: Announcement;
	readonly notices: Notices;
	readonly odds: PersonalOdds;
	readonly outbox: Outbox;
	readonly turn: Turn;
	readonly turnEvents: TurnEvents;
	readonly reports: Reports;
	readonly options: Pick<SessionOptions, "wrapUpMessage" | "debtLost">;
}

export class Effects implements Host<Context> {
	readonly #parts: EffectParts;

	constructor(parts: EffectParts) {
		this.#parts = parts;
	}

	ask(state: State, meter: MeterId, ctx: Context, tally: Tally): OpenQuestion {
		const { pi, odds, settings } = this.#parts;
		const past = odds.atQuestion(state, meter, tally);
		const question = questionAbout(state, meter, (call) => callText(call, toolsOf(pi)), past, tally);
		const { askTimeout, bell } = settings.current;
		return ask(ctx, question, askTimeout.value, bell.value);
	}

	post(text: string, _ctx: Context, from?: "person"): void {
		this.#parts.outbox.post(text, from === "person" ? GUIDANCE : NAME);
	}

	withdraw(ctx: Context): void {
		const { notices, outbox } = this.#parts;
		notices.giveBack(outbox.discard(), ctx);
	}

	wrapUp(text: string, ctx: Context): string {
		const { settings, notices, options } = this.#parts;
		const written = settings.current.wrapUpMessage.value || text;
		return options.wrapUpMessage ? notices.use(readMessage(options.wrapUpMessage, written), ctx) : written;
	}

	goOn(): void {
		this.#parts.turn.demandAnother();
	}

	abort(given: Context): void {
		// A reload, or the program, may have ended the session since.
		const ctx = orDisposed(given);
		if (ctx.hasPendingMessages()) this.#parts.reports.messagesWaited();
		ctx.abort();
	}

	signal(ctx: Context): AbortSignal | undefined {
		return ctx.signal;
	}

	reserved(state: State): void {
		this.#parts.announcement.renew(state);
	}

	committed(state: State, ctx: Context): void {
		const { notices, turnEvents } = this.#parts;
		notices.showRun(state, ctx);
		if (ctx !== DISPOSED) turnEvents.awaitEnd(state);
	}

	/** A member that has an answer prints nothing: its caller would take any line for a failure. */
	debtLeft(debt: DebtLeft, ctx: Context): void {
		const { role, reports, notices, options } = this.#parts;
		if (role.isMember && reports.answer !== undefined) return;
		notices.warnOnce(debtText(debt), ctx);
		if (debt.lossReason !== undefined && role.ownsProcess) options.debtLost?.(ctx);
	}

	ended(outcome: Outcome, repeated: boolean, state: State, ctx: Context): void {
		const { role, reports, turnEvents, odds } = this.#parts;
		reports.runEnded(outcome, repeated, state, ctx);
		turnEvents.stop();
		// Only where a question can use it, and once in a tree of agents.
		if (ctx !== DISPOSED && ctx.hasUI && !role.isMember) void odds.refresh(ctx.cwd);
	}
}

/** None if pi fails to list them: the question is asked anyway, and says less about a call. */
function toolsOf(pi: Pick<Pi, "getAllTools">): readonly Tool[] {
	try {
		return pi.getAllTools();
	} catch {
		return [];
	}
}
