/** Every sentence that the model reads. */
import { amount, forScope, within } from "./amount.ts";
import { type Call, kindOf, type Max, type MeterId } from "./meters.ts";
import type { Trip } from "./outcome.ts";
import type { State } from "./state.ts";

const ACCOUNT = [
	"- what you have accomplished,",
	"- what remains to be done,",
	"- partial findings that whoever reads this should know.",
].join("\n");

/** The wrap-up. At least one turn is left when it arrives. */
export function wrapUp(meter: MeterId, remaining: Max): string {
	const left =
		remaining === "unlimited"
			? "This run is to end."
			: `Only ${amount(meter, Math.max(1, remaining))} left ${within(meter)}.`;
	return `${left} Begin nothing new. Bring what you are doing to a safe stop and write your closing report now:
${ACCOUNT}

Do not call the task complete because the run is ending; say so only if it is. Ask the user something only if you truly cannot close without the answer. Then stop.`;
}

/** In the final pass only: the transcript goes on saying it. */
const REFUSED = "every further tool call is refused";

/** The instruction of the final pass. */
export function finalPass({ meter }: Trip): string {
	return `The budget of ${kindOf(meter).many} ${forScope(meter)} is spent; ${REFUSED}. Answer now, in text, from what you already have:
${ACCOUNT}

Do not call the task complete because the budget ran out.`;
}

/** True if the text is one that the model reads in a final pass. */
export function isOfFinalPass(text: string): boolean {
	return text.includes(REFUSED);
}

/** Sent with a person's prompt, if our last words to the model came from a final pass. */
export const NEW_RUN =
	"A new run has begun, and tool calls run again. What was said above about refused tool calls was about the run before.";

/** When the same call comes again and again. */
export function pointOut({ tool }: Call, times: number): string {
	return `You are going in circles: the same calls with the same arguments have now come ${times} times in a row; the last was ${tool}. Look at what they returned. If nothing changes, do something else, or say what keeps you from going on.`;
}

/** After a limit was raised in the final pass. */
export const RESUMED = "The limit was raised. Tool calls run again; go on with the task.";

/** The start of every error result of ours. */
export const NOT_RUN = "Not run";

/** The error result of a tool call that the gate refused. */
export function refusal({ phase, meters }: State): string {
	if (phase.name === "running") {
		return `${NOT_RUN}: this would make ${amount("repeats", meters.repeats.used + 1)}. Do something else, or say what keeps you from going on. If this call comes once more, the run ends.`;
	}
	if (phase.name === "finishing") return `${NOT_RUN}. ${finalPass(phase.trip)}`;
	if (phase.name !== "stopped" || !("meter" in phase.verdict)) return `${NOT_RUN}: this run is being stopped.`;
	const { meter, limit } = phase.verdict as Trip;
	return `${NOT_RUN}: the limit of ${amount(meter, limit)} ${forScope(meter)} is reached, and the run is being stopped.`;
}

/** The error result of a tool call that waited for an answer when pi was reloaded. */
export const RELOADED = `${NOT_RUN}: the extensions were reloaded meanwhile. Call it again if it is still needed.`;
