/**
 * pi-turn-limit: a circuit breaker for agent runs.
 *
 * The extension as pi loads it. Only here do we touch the process: its environment, its standard error and,
 * without a UI, its exit code.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { stoppedByLimit } from "../core/outcome.ts";
import { changedLimit, quote } from "../core/wording.ts";
import { type Found, fromEnvironment, fromFile, fromFlags } from "../settings/places.ts";
import { KEYS, LIMIT_OF, SETTINGS } from "../settings/settings.ts";
import type { Context, Pi } from "./host.ts";
import type { Surroundings } from "./preferences.ts";
import type { Report } from "./report.ts";
import { shared } from "./shared.ts";
import { install } from "./turn-limit.ts";

/** A limit stopped a run; the code that another agent CLI uses for its turn limit. */
export const EXIT_CODE = 53;

export default function (pi: Pi): void {
	/** Print mode shows the reason of its last run itself; those of earlier runs would be lost. */
	let unsaid: string | undefined;
	pi.on("input", () => {
		if (unsaid !== undefined) console.error(unsaid);
		unsaid = undefined;
	});

	install(pi, {
		places: [fromEnvironment(process.env)],
		surroundings: (ctx) => surroundings(pi, ctx),
		claimed: () => registerFlags(pi),
		log: (text) => console.error(text),
		hear,
	});

	function hear({ outcome, text, shown }: Report, { mode }: Context): void {
		if (mode !== "print" && mode !== "json") return;
		if (shown && mode === "print") unsaid = text;
		else if (text !== undefined) console.error(text);
		if (stoppedByLimit(outcome)) exitWith53();
		// Json mode would exit with 0, whatever happened.
		if (outcome.kind === "failed" && outcome.by === "breaker") process.exitCode = 1;
	}
}

function registerFlags(pi: Pi): void {
	for (const key of KEYS) {
		const { flag, help } = SETTINGS[key];
		if (flag !== undefined) pi.registerFlag(flag, { type: "string", description: help ?? "" });
	}
}

function surroundings(pi: Pi, ctx: Context): Surroundings {
	const agent = process.env["PI_CODING_AGENT_DIR"]?.replace(/^~(?=\/|$)/, homedir()) || join(homedir(), ".pi", "agent");
	const user = readFile(join(agent, "turn-limit.json"), "turn-limit.json");
	const isTrusted = ctx.isProjectTrusted();
	const project = isTrusted ? readFile(join(ctx.cwd, ".pi", "turn-limit.json"), ".pi/turn-limit.json") : undefined;
	return {
		places: [
			fromFlags((name) => pi.getFlag(name)),
			fromEnvironment(process.env),
			{ ...user.place, yieldsToProject: true },
		],
		project: project?.place,
		problems: [...user.problems, ...(project?.problems ?? [])],
	};
}

/** A model with a write tool could have edited the file: say which limits are not what they were. */
function readFile(path: string, shownAs: string): Found {
	const { place, problems } = fromFile(path, shownAs);
	const changes = Object.values(LIMIT_OF).flatMap((key) => {
		const now = place.values[key];
		const before = shared.read.has(path + key) ? shared.read.get(path + key) : now;
		shared.read.set(path + key, now);
		return quote(before) === quote(now) ? [] : [changedLimit(place.name(key), before, now)];
	});
	return { place, problems: [...problems, ...changes] };
}

/** Pi sets its own code after we have spoken, hence the listener; a signal's code stays. */
function exitWith53(): void {
	if (shared.stopped) return;
	shared.stopped = true;
	process.once("exit", (code) => {
		if (code === 0 || code === 1) process.exitCode = EXIT_CODE;
	});
}
