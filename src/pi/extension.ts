/**
 * pi-turn-limit: a circuit breaker for agent runs.
 *
 * The extension as pi loads it. Only here do we touch the process: its environment, its standard error and,
 * without a UI, its exit code; and only for the session that owns the process.
 */
import { writeSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isBroken, PREFIX, stoppedByLimit } from "../core/outcome.ts";
import { clip, quote } from "../core/text.ts";
import { readBudget, takeAddress } from "../settings/budget.ts";
import { type Found, fromEnvironment, fromFile, fromFlags } from "../settings/places.ts";
import type { Place } from "../settings/resolve.ts";
import { defaults, KEY_OF, KEYS, meterOf, settingOf } from "../settings/settings.ts";
import { writeSettings } from "../settings/write.ts";
import { agentDirectory, type Context, type Pi } from "./host.ts";
import type { Surroundings } from "./preferences.ts";
import type { Report } from "./report.ts";
import { noted } from "./reply.ts";
import { Session } from "./session.ts";
import { shared } from "./process-state.ts";
import type { Role } from "./tree.ts";

/** A limit stopped a run; the code that another agent CLI uses for its turn limit. */
const STOPPED = 53;

/** A run ended after the wrap-up: its answer may be partial. */
const PARTIAL = 54;

export default function (pi: Pi): void {
	// Before any tool can inherit it.
	takeAddress(process.env, shared);
	const pending = new PendingLine();
	pi.on("input", ({ source }) => {
		if (source !== "extension") pending.flush();
	});
	// Pi shows the last message of the last session only.
	pi.on("session_shutdown", ({ reason }) => {
		if (reason !== "quit" && reason !== "reload") pending.flush();
	});
	new Session(pi, {
		rank: "installed",
		places: [fromEnvironment(process.env)],
		surroundings: (ctx) => surroundings(pi, ctx),
		loadedFirst: () => registerFlags(pi),
		log,
		print: write,
		columns: () => process.stdout.columns,
		save: saveForUser,
		onReport: (report, ctx, role) => printReport(report, ctx, role, pending),
		cannotGuard: (ctx) => refuseToRun(pi, ctx),
		giveUp: (session, ctx) => giveUp(session, ctx, pending),
	});
}

function log(text: string): void {
	for (const line of text.split("\n")) console.error(line.startsWith(PREFIX) ? line : `${PREFIX} ${line}`);
}

/** A line that print mode may show itself, because its last message carries it; otherwise we write it. */
class PendingLine {
	#write: (() => void) | undefined;

	set(line: string, session: Context["sessionManager"]): void {
		this.flush();
		const write = (): void => {
			process.off("exit", atExit);
			console.error(line);
		};
		const atExit = (code: number): void => {
			const last = session.buildSessionProjection().messages.at(-1);
			// Pi exits with 1 once it has shown it; another extension may end the process before.
			const isShown = code === 1 && last?.role === "assistant" && last.errorMessage === line;
			if (!isShown) console.error(line);
		};
		process.once("exit", atExit);
		this.#write = write;
	}

	/** Another prompt or the end follows, so pi no longer shows it. */
	flush(): void {
		this.#write?.();
		this.#write = undefined;
	}
}

/** Writes the line and sets the exit code, where a script reads them. */
function printReport(report: Report, { mode, sessionManager }: Context, role: Role, pending: PendingLine): void {
	const { outcome, line, isInTranscript, isAnswered } = report;
	if (!role.ownsProcess || (mode !== "print" && mode !== "json")) return;
	// A member's answer says itself that it is partial; its caller takes any line or code for a failure.
	if (role.isMember && isAnswered) return;
	if (line !== undefined) {
		if (isInTranscript && mode === "print") pending.set(line, sessionManager);
		else log(line);
	}
	if (outcome.kind === "wrapped_up") exitWith(PARTIAL);
	else if (stoppedByLimit(outcome)) exitWith(STOPPED);
	// Json mode would exit with 0, whatever happened.
	if (isBroken(outcome)) process.exitCode = 1;
}

/** Over several runs 53 beats 54 beats 0. Pi sets its own code after us, hence the listener; a signal's code stays. */
function exitWith(code: number): void {
	const isFirst = shared.exitCode === undefined;
	shared.exitCode = Math.min(code, shared.exitCode ?? code);
	if (!isFirst) return;
	process.once("exit", (pis) => {
		const isOurs = pis === 0 || (pis === 1 && shared.exitCode === STOPPED);
		if (isOurs) process.exitCode = shared.exitCode;
	});
}

/** An extension wakes the agent again and again: ends the script with its answer, its line and its code. A member's answer is a success. */
async function giveUp(session: Session, ctx: Context, pending: PendingLine): Promise<void> {
	const { role, telling } = session;
	const { mode } = ctx;
	if (!role.ownsProcess) return;
	const answer = telling.answer === undefined ? undefined : noted(session, telling.answer);
	await session.step({ type: "shut_down" }, ctx);
	if (mode === "print" && answer !== undefined) write(`${answer}\n`);
	pending.flush();
	process.exit(role.isMember && answer !== undefined ? 0 : STOPPED);
}

/** Writes all of it to standard output, or as much as is read. A pipe takes what fits, and has to be read before it takes more. */
function write(text: string): void {
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

/** Ends a script whose flags or variables set a limit that cannot be enforced. */
function refuseToRun(pi: Pi, { hasUI }: Context): void {
	const asked = [fromFlags((name) => pi.getFlag(name)), fromEnvironment(process.env)];
	const isAsked = asked.some(({ values }) =>
		KEYS.some((key) => meterOf(key) !== undefined && (values[key] ?? "unlimited") !== "unlimited"),
	);
	if (isAsked && !hasUI) process.exit(1);
}

function registerFlags(pi: Pi): void {
	for (const key of KEYS) {
		const { flag, title, expected, show } = settingOf(key);
		const [alone, attended] = [defaults(false), defaults(true)].map((values) => show(values[key]));
		const fallback = alone === attended ? `default ${alone}` : `default ${alone}, ${attended} with a person`;
		if (flag !== undefined)
			pi.registerFlag(flag, { type: "string", description: `${title}: ${expected} (${fallback})` });
	}
}

const NO_BUDGET = "A project file cannot set a budget; ignoring budget in .pi/turn-limit.json.";

function surroundings(pi: Pi, ctx: Context): Surroundings {
	const user = readFile(userFile(), "turn-limit.json");
	const isTrusted = ctx.isProjectTrusted();
	const project = isTrusted ? readFile(join(ctx.cwd, ".pi", "turn-limit.json"), ".pi/turn-limit.json") : undefined;
	return {
		places: [fromFlags((name) => pi.getFlag(name)), fromEnvironment(process.env), user.place],
		budget: readBudget(userFile(), "turn-limit.json", process.env, takeAddress(process.env, shared)),
		project: project && { ...project.place, who: "A project file", lowers: ["file"] },
		problems: [...user.problems, ...(project?.problems ?? []), ...(project?.hasBudget ? [NO_BUDGET] : [])],
	};
}

function userFile(): string {
	return join(agentDirectory(), "turn-limit.json");
}

function saveForUser(values: Place["values"]): string {
	const path = userFile();
	const shownAs = path.startsWith(`${homedir()}/`) ? path.replace(homedir(), "~") : path;
	try {
		writeSettings(path, values);
	} catch (error) {
		throw new Error(`${shownAs}: ${clip(error instanceof Error ? error.message : String(error), 160)}`, {
			cause: error,
		});
	}
	// The person has changed it, so there is nothing to announce.
	for (const key of Object.values(KEY_OF)) if (values[key] !== undefined) shared.limits.set(path + key, values[key]);
	return shownAs;
}

/** A model with a write tool could have edited the file, so limits that have changed are announced. */
function readFile(path: string, shownAs: string): Found {
	const { place, problems, hasBudget } = fromFile(path, shownAs);
	const changes = Object.values(KEY_OF).flatMap((key) => {
		const now = place.values[key];
		const before = shared.limits.has(path + key) ? shared.limits.get(path + key) : now;
		shared.limits.set(path + key, now);
		const [was, is] = [before, now].map((value) => (value === undefined ? "not set" : quote(value)));
		return was === is ? [] : [`${place.name(key)} has changed since it was last read: it was ${was} and is now ${is}.`];
	});
	return { place, problems: [...problems, ...changes], hasBudget };
}
