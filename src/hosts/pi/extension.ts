/**
 * pi-turn-limit: a circuit breaker for agent runs.
 *
 * The extension as pi loads it, with flags, environment and files.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { clip, quote } from "../../core/text.ts";
import { agentDirectory } from "../../settings/agent-directory.ts";
import { readBudget, takeAddress } from "../../settings/budget.ts";
import { type Found, fromEnvironment, fromFile, fromFlags, valuesIn } from "../../settings/places.ts";
import { defaults, KEY_OF, KEYS, meterOf, settingOf } from "../../settings/settings.ts";
import { writeSettings } from "../../settings/write.ts";
import type { UserFile } from "./command/parts.ts";
import type { Context, Pi } from "./host/api.ts";
import type { Surroundings } from "./settings/session-settings.ts";
import { processMemory } from "./host/process.ts";
import {
	failAtExit,
	giveUp,
	log,
	notStarted,
	printReport,
	refuse,
	watchPrinting,
	write,
	writeNow,
} from "./outcome/exit.ts";
import { Session } from "./session.ts";

export default function (pi: Pi): void {
	// Before any tool can inherit it.
	takeAddress(process.env, processMemory);
	let hasFailed = false;
	pi.on("input", ({ source }, ctx) => {
		if (source !== "extension") writeNow(ctx);
	});
	let hasPrinted = (): boolean => false;
	pi.on("session_start", () => void (hasPrinted = watchPrinting()));
	// Pi shows the last message of the last session only.
	pi.on("session_shutdown", ({ reason }, ctx) => {
		if (reason !== "quit" && reason !== "reload") writeNow(ctx);
	});
	new Session(pi, {
		rank: "installed",
		places: [],
		surroundings: (ctx) => surroundings(pi, ctx),
		loadedFirst: () => registerFlags(pi),
		log: (text, isError) => {
			hasFailed ||= isError;
			log(text, isError);
		},
		print: write,
		columns: () => process.stdout.columns,
		oddsDirectory: agentDirectory,
		file,
		onReport: (report, ctx, role) => printReport(report, ctx, role, () => hasPrinted()),
		refuse,
		cannotGuard: (ctx) => refuseToRun(pi, ctx),
		// Another extension can start runs in its own `session_shutdown`, before we hear of the end.
		giveUp: (answer, isEnding, ctx, role) => giveUp(answer, isEnding || hasPrinted(), ctx, role),
		debtLost: failAtExit,
	});
	// After the session, which gives its own reason if its limits were not understood.
	pi.on("input", () => {
		if (hasFailed) notStarted("A command before this prompt failed.");
	});
}

/** Ends a script whose flags or variables set a limit that cannot be enforced. */
function refuseToRun(pi: Pi, { hasUI }: Context): void {
	const asked = [fromFlags((name) => pi.getFlag(name)), ...fromEnvironment(process.env).places];
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

const NO_BUDGET = { what: "A project file cannot set a budget; ignoring budget in .pi/turn-limit.json." };

function surroundings(pi: Pi, ctx: Context): Surroundings {
	const user = readFile(userFile(), "turn-limit.json", file.path);
	const isTrusted = ctx.isProjectTrusted();
	const project = isTrusted ? readFile(join(ctx.cwd, ".pi", "turn-limit.json"), ".pi/turn-limit.json") : undefined;
	const environment = fromEnvironment(process.env);
	const inProject = [...(project?.problems ?? []), ...(project?.hasBudget ? [NO_BUDGET] : [])];
	return {
		places: [fromFlags((name) => pi.getFlag(name)), ...environment.places, user.place],
		budget: readBudget(userFile(), file.path, process.env, takeAddress(process.env, processMemory)),
		project: project && { ...project.place, who: "A project file", lowers: ["file"] },
		problems: [...environment.problems, ...user.problems, ...inProject],
	};
}

function userFile(): string {
	return join(agentDirectory(), "turn-limit.json");
}

const file: UserFile = {
	get path() {
		const path = userFile();
		return clip(path.startsWith(`${homedir()}/`) ? path.replace(homedir(), "~") : path, 300);
	},
	read: () => orNamed(() => valuesIn(userFile())),
	write: (values) => {
		const path = userFile();
		orNamed(() => writeSettings(path, values));
		// The person has changed it, so there is nothing to announce.
		for (const key of Object.values(KEY_OF)) if (key in values) processMemory.limits.set(path + key, values[key]);
	},
};

/** An error names the user's file. */
function orNamed<T>(use: () => T): T {
	try {
		return use();
	} catch (error) {
		const why = clip(error instanceof Error ? error.message : String(error), 160);
		throw new Error(`${file.path}: ${why}`, { cause: error });
	}
}

/** A model with a write tool could have edited the file, so limits that have changed are announced. */
function readFile(path: string, name: string, shownAs = name): Found {
	const { place, problems, hasBudget } = fromFile(path, name, shownAs);
	const changes = Object.values(KEY_OF).flatMap((key) => {
		const now = place.values[key];
		const before = processMemory.limits.has(path + key) ? processMemory.limits.get(path + key) : now;
		processMemory.limits.set(path + key, now);
		const [was, is] = [before, now].map((value) => (value === undefined ? "not set" : quote(value)));
		const what = `${place.name(key)} has changed since it was last read: it was ${was} and is now ${is}.`;
		return was === is ? [] : [{ what }];
	});
	return { place, problems: [...problems, ...changes], hasBudget };
}
