/** The settings in force, and what `/turn-limit` has set on top of them in this session. */
import type { Max, MeterId } from "../../../core/meters.ts";
import type { Budget, BudgetFound } from "../../../settings/budget.ts";
import { fromMemory, remember, type Values } from "../../../settings/places.ts";
import { type Problem, sentenceOf } from "../../../settings/problem.ts";
import { type LoweringPlace, type Place, resolve, type Resolved } from "../../../settings/resolve.ts";
import { defaults, type Key, KEY_OF, KEYS, settingOf, type Settings } from "../../../settings/settings.ts";
import { COMMAND, type Context, NAME, type Pi } from "../host/api.ts";
import type { Rank } from "../lifecycle/guard.ts";
import { processMemory } from "../host/process.ts";
import { limitsOf, lowered, type RootLimits } from "../../../loop/tree/root-limits.ts";

/** The places around the session. */
export interface Surroundings {
	/** Strongest first. */
	readonly places: readonly Place[];
	readonly project?: LoweringPlace | undefined;
	/** The budget of a fleet. */
	readonly budget?: BudgetFound;
	readonly problems: readonly Problem[];
}

/** Where the settings of a session come from. */
export interface SettingsOptions {
	readonly rank: Rank;
	/** The places of settings, strongest first, until a session has started. */
	readonly places: readonly Place[];
	/** The places once a session has started; the same if not given. */
	readonly surroundings?: (ctx: Context) => Surroundings;
	/** The budget of a fleet, if there are no surroundings to read it from. */
	readonly budget?: BudgetFound | undefined;
}

export class SessionSettings {
	#current: Resolved;
	readonly #pi: Pick<Pi, "appendEntry">;
	readonly #surroundings: (ctx: Context) => Surroundings;
	#around: Surroundings;
	readonly #isEmbedded: boolean;
	/** Somebody can be asked. */
	#attended = false;
	#root: RootLimits = { limits: {}, overruled: {} };
	/** Set by commands of this process. */
	#own: Values = {};
	/** Set by commands of an earlier process: anybody who can write the session's file can set them. */
	#recalled: Values = {};
	/** Of those, the ones that were announced. */
	#told: readonly Key[] = [];
	/** Of the values that the places give now. */
	#valueProblems: readonly Problem[] = [];

	/** `places` apply until a session has started, because a program that embeds pi need not start one. */
	constructor(
		pi: Pick<Pi, "appendEntry">,
		{ places, rank, surroundings = () => this.#around, budget }: SettingsOptions,
	) {
		this.#pi = pi;
		this.#isEmbedded = rank === "program";
		this.#surroundings = surroundings;
		this.#around = { places, problems: [], ...(budget && { budget }) };
		this.#current = this.#resolve().settings;
	}

	/** The settings in force. */
	get current(): Resolved {
		return this.#current;
	}

	/** Reads every place again; gives the problems. `root`: shared limits of the root, below which a member can only go. */
	load(ctx: Context, attended: boolean, root?: RootLimits): readonly string[] {
		this.#attended = attended;
		this.#root = root ?? this.#root;
		this.#around = this.#surroundings(ctx);
		const damaged = this.#read(ctx);
		this.#settle();
		const problems = [...this.#around.problems, ...damaged, ...this.#valueProblems];
		return [...problems.map(sentenceOf), ...this.#announce()];
	}

	/** Reads the session's entries again, and no file; gives the problems with them. */
	recall(ctx: Context): readonly string[] {
		const problems = this.#read(ctx);
		this.#settle();
		return [...problems.map(sentenceOf), ...this.#announce()];
	}

	/** Reads the setting whenever it is called. */
	reader<K extends Key>(key: K): () => Settings[K] {
		return () => this.current[key].value;
	}

	/** The fleet's, if there is one. */
	get budget(): Budget | undefined {
		const found = this.#around.budget;
		return found?.kind === "budget" ? found.budget : undefined;
	}

	/** What is wrong in the places, and what is used instead. */
	get problems(): readonly string[] {
		return this.#problems.map(sentenceOf);
	}

	get #problems(): readonly Problem[] {
		return [...this.#around.problems, ...this.#valueProblems];
	}

	/** Why nothing may run: the fleet's budget cannot be used or, where nobody can be asked, a limit was not understood. */
	get unableReason(): string | undefined {
		const found = this.#around.budget;
		const misread = this.#attended ? [] : this.#problems.filter(({ isLimit }) => isLimit);
		return (
			[...misread.map(({ what }) => what), ...(found?.kind === "unusable" ? found.why : [])].join(" ") || undefined
		);
	}

	/** The place of a meter's limit. */
	sourceOf(id: MeterId): string {
		return this.current[KEY_OF[id]].source;
	}

	/** The limit that the other places set where a command has set another; unlimited if no command has. */
	overruled(id: MeterId): Max {
		const key = KEY_OF[id];
		return this.sourceOf(id) === COMMAND ? this.#resolve({}, {}).settings[key].value : "unlimited";
	}

	/** A person has come or gone: other defaults apply. */
	attend(attended: boolean): void {
		this.#attended = attended;
		this.#settle();
	}

	/** For this session; stored in it and nowhere else. */
	set(key: Key, value: Settings[Key], ctx: Context): void {
		this.#own = { ...this.#own, [key]: settingOf(key).write(value) };
		this.#store(ctx);
	}

	/** The values that commands have set in this session. */
	get commanded(): Values {
		return { ...this.#recalled, ...this.#own };
	}

	/** Of those, the ones that a person has set in this process, or was told of. */
	get vouchedFor(): Values {
		const told = Object.entries(this.#recalled).filter(([key]) => this.#told.includes(key as Key));
		return { ...Object.fromEntries(told), ...this.#own };
	}

	/** These go back to what the other places say; all of them if none are named. */
	reset(ctx: Context, keys: readonly Key[] = KEYS): void {
		const rest = (values: Values): Values =>
			Object.fromEntries(Object.entries(values).filter(([key]) => !keys.includes(key as Key)));
		this.#own = rest(this.#own);
		this.#recalled = rest(this.#recalled);
		this.#store(ctx);
	}

	#store({ sessionManager }: Context): void {
		this.#settle();
		const values = this.commanded;
		this.#pi.appendEntry(NAME, remember(values));
		processMemory.commands.set(keyOf(sessionManager.getLeafId(), values), this.#own);
	}

	/** From the active branch only. */
	#read({ sessionManager }: Context): readonly Problem[] {
		const ours = sessionManager
			.getBranch()
			.flatMap((entry) => (entry.type === "custom" && entry.customType === NAME ? [entry] : []));
		const { values, problems } = fromMemory(ours.map(({ data }) => data));
		const known = ours.flatMap(
			({ id, data }) => processMemory.commands.get(keyOf(id, fromMemory([data]).values)) ?? [],
		);
		this.#own = known.at(-1) ?? {};
		this.#recalled = values;
		return problems;
	}

	#settle(): void {
		const { settings, problems } = this.#resolve();
		this.#current = { ...lowered(settings, this.#root, COMMAND), ...limitsOf(this.budget) };
		this.#valueProblems = problems;
	}

	#resolve(recalled = this.#recalled, set = this.#own): ReturnType<typeof resolve> {
		const { places, project } = this.#around;
		const projects = project === undefined ? [] : [project];
		const name = (): string => COMMAND;
		const own: Place = { values: set, name, strength: "command" };
		const memory: Place = { values: { ...recalled, ...set }, name, strength: "command" };
		const afterFlags = places.filter(({ strength }) => strength === "flag").length;
		const fallback = defaults(this.#attended, this.#isEmbedded);
		if (this.#attended) {
			const all = [own, ...places.slice(0, afterFlags), memory, ...places.slice(afterFlags)];
			return resolve(all, projects, fallback);
		}
		const lowering: LoweringPlace = {
			...memory,
			who: `An earlier ${COMMAND} of this session`,
			lowers: ["flag", "start", "file"],
		};
		return resolve([own, ...places], [...projects, lowering], fallback);
	}

	/** Says which values of an earlier process are looser than what applies without them: a person may have forgotten them. */
	#announce(): readonly string[] {
		const without = lowered(this.#resolve({}).settings, this.#root, COMMAND);
		const isLooser = (key: Key): boolean =>
			settingOf(key).tightens?.(this.current[key].value, without[key].value) === false;
		this.#told = KEYS.filter(isLooser);
		return this.#told.map((key) => {
			const { show, title } = settingOf(key);
			const set = `${title}: ${show(this.current[key].value)}, set by an earlier ${COMMAND} of this session`;
			const { value, source } = without[key];
			return `${set}; without it ${show(value)} (${source}). ${COMMAND} default goes back to that.`;
		});
	}
}

/** The key of an entry with these values, in any order. */
function keyOf(entryId: string | null | undefined, values: Values): string {
	return JSON.stringify([entryId, ...KEYS.map((key) => values[key])]);
}
