/** Standard output, standard error and the exit code: all that a script reads. */
import { writeSync } from "node:fs";
import { hasTrip, isBroken, type OutcomeKind, PREFIX } from "../../../core/outcome.ts";
import { safe } from "../../../core/text.ts";
import type { Assistant, Context } from "../host/api.ts";
import { processMemory } from "../host/process.ts";
import type { Report } from "./report.ts";
import type { Role } from "../lifecycle/root-or-member.ts";

/** A limit stopped a run; the code that another agent CLI uses for its turn limit. */
const STOPPED = 53;

/** A run ended after the wrap-up: its answer may be partial. */
const PARTIAL = 54;

/** The breaker failed. */
const FAILED = 1;

/** By the end of a run that came to a limit: the code of a script; undefined if it is pi's. */
const CODES: Readonly<Record<OutcomeKind, number | undefined>> = {
	completed: undefined,
	wrapped_up: PARTIAL,
	synthesized: STOPPED,
	exhausted: STOPPED,
	declined: STOPPED,
	interrupted: undefined,
	failed: STOPPED,
};

/** `isError`: a command of the script was not carried out, so its exit code is 1. */
export function log(text: string, isError = false): void {
	for (const line of safe(text).split("\n")) console.error(line.startsWith(PREFIX) ? line : `${PREFIX} ${line}`);
	if (isError) process.exitCode = 1;
}

/** True where nobody can be asked and exit code and standard error are ours. */
export function isScript({ mode }: Pick<Context, "mode">, { ownsProcess }: Role): boolean {
	return ownsProcess && (mode === "print" || mode === "json");
}

/** Ends a script whose limits are invalid or cannot be used, before its first request. */
export function refuse(why: string, ctx: Context, role: Role): void {
	if (isScript(ctx, role)) notStarted(why);
}

export function notStarted(why: string): never {
	log(`${why} Not started.`);
	process.exit(1);
}

/** Writes the line at the end, unless print mode shows it itself because the last message carries it. `hasPrinted`: print mode is past that. */
function writeLater(line: string, session: Context["sessionManager"], hasPrinted: () => boolean): void {
	const atExit = (code: number): void => {
		const { messages } = session.buildSessionProjection();
		const last = messages.findLast(({ role }) => role === "assistant") as Partial<Assistant> | undefined;
		// Pi exits with 1 once it has shown it. Another extension may end the process, before or after, or leave a message.
		const isPast = code === 1 || (hasPrinted() && messages.at(-1) === last);
		const isShown = isPast && last?.errorMessage === line;
		if (!isShown) console.error(line);
	};
	process.once("exit", atExit);
	processMemory.writeLine = () => {
		process.off("exit", atExit);
		console.error(line);
	};
}

/** Another prompt or another session follows in this process, so pi no longer shows the line that waits. */
export function writeNow({ sessionManager }: Context): void {
	if (sessionManager !== processMemory.owner) return;
	processMemory.writeLine?.();
	processMemory.writeLine = undefined;
}

/** Writes the line and sets the exit code, where a script reads them. */
export function printReport(report: Report, ctx: Context, role: Role, hasPrinted: () => boolean): void {
	const { outcome, line, isInTranscript, isAnswered } = report;
	if (!isScript(ctx, role)) return;
	// A member's answer says itself that it is partial; its caller takes any line or code for a failure.
	if (role.isMember && isAnswered) return;
	if (line !== undefined) {
		if (isInTranscript && ctx.mode === "print") writeLater(line, ctx.sessionManager, hasPrinted);
		else log(line);
	}
	const code = hasTrip(outcome) ? CODES[outcome.kind] : undefined;
	if (code !== undefined) exitWith(code);
	// Json mode would exit with 0, whatever happened.
	if (isBroken(outcome)) process.exitCode = 1;
}

/** Counts are lost, and a script has to know. */
export function failAtExit({ mode }: Context): void {
	if (mode === "print" || mode === "json") exitWith(FAILED);
}

/** Over several runs 1 beats 53 beats 54 beats 0. Pi sets its own code after us, hence the listener; a signal's code stays. */
function exitWith(code: number): void {
	const isFirst = processMemory.exitCode === undefined;
	processMemory.exitCode = Math.min(code, processMemory.exitCode ?? code);
	if (!isFirst) return;
	process.once("exit", (hostCode) => {
		const isOurs = hostCode === 0 || (hostCode === 1 && processMemory.exitCode === STOPPED);
		if (isOurs) process.exitCode = processMemory.exitCode;
	});
}

/** The function tells whether print mode has shown its answer: pi has then removed its signal handlers. */
export function watchPrinting(): () => boolean {
	const handlers = (["SIGTERM", "SIGHUP"] as const).map((signal) => [signal, process.listeners(signal)] as const);
	return () => handlers.every(([signal, before]) => before.some((one) => !process.listeners(signal).includes(one)));
}

/**
 * An extension wakes the agent again and again: ends the script with its answer, its line and its code. A member's answer is
 * a success. `isEnding`: pi has shown answer and line; it would exit with 1, which becomes ours.
 */
export function giveUp(answer: string | undefined, isEnding: boolean, { mode }: Context, { isMember }: Role): void {
	if (mode === "print" && answer !== undefined && !isEnding) write(`${answer}\n`);
	if (isMember && answer !== undefined) process.exit(0);
	process.exit(isEnding ? 1 : STOPPED);
}

/** Writes all of it to standard output, or as much as is read. A pipe takes what fits, and has to be read before it takes more. */
export function write(text: string): void {
	let rest = Buffer.from(text);
	while (rest.length > 0) {
		try {
			rest = rest.subarray(writeSync(1, rest));
		} catch (error) {
			const { code } = error as NodeJS.ErrnoException;
			if (code === "EPIPE") return; // as with `| head`
			if (code !== "EAGAIN") throw error;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
		}
	}
}
