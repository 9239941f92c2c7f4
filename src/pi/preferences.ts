import type { Key, Place, Resolved, Settings } from "../settings/settings.ts";
import { defaults, resolve } from "../settings/settings.ts";
import { fromMemory, remember } from "../settings/places.ts";
import { type Context, NAME, type Pi } from "./host.ts";

/** What the surroundings say about settings. */
export interface Surroundings {
	/** Strongest first. */
	readonly places: readonly Place[];
	readonly project?: Place | undefined;
	readonly problems: readonly string[];
}

/** The settings in force, and what the session's command has set on top of them. */
export interface Preferences {
	readonly current: Resolved;
	/** Reads every place again. What it returns is to be told. */
	load(ctx: Context): readonly string[];
	/** Reads the session again, and no file; what is wrong elsewhere has been told. */
	recall(ctx: Context): readonly string[];
	/** For this session; written into it and nowhere else. */
	set<K extends Key>(key: K, value: Settings[K]): void;
}

/** `places` hold until a session has started, for a program that embeds pi need not start one. */
export function preferences(
	pi: Pick<Pi, "appendEntry">,
	places: readonly Place[],
	surroundings: (ctx: Context) => Surroundings,
): Preferences {
	let fallback = defaults(false);
	let around: Surroundings = { places, problems: [] };
	let memory: Place = fromMemory([]).place;
	let current = resolve(places, undefined, fallback).settings;

	return {
		get current() {
			return current;
		},
		load(ctx) {
			fallback = defaults(ctx.hasUI);
			around = surroundings(ctx);
			return [...around.problems, ...recall(ctx), ...settle()];
		},
		recall,
		set(key, value) {
			memory = { ...memory, values: { ...memory.values, [key]: value } };
			settle();
			pi.appendEntry(NAME, remember(memory.values));
		},
	};

	function recall(ctx: Context): readonly string[] {
		const stored = fromMemory(storedIn(ctx));
		memory = stored.place;
		settle();
		return stored.problems;
	}

	function settle(): readonly string[] {
		const { settings, problems } = resolve([memory, ...around.places], around.project, fallback);
		current = settings;
		return problems;
	}
}

/** From the active branch only, oldest first. */
function storedIn({ sessionManager }: Context): readonly unknown[] {
	return sessionManager
		.getBranch()
		.flatMap((entry) => (entry.type === "custom" && entry.customType === NAME ? [entry.data] : []));
}
