/** Limits for agent loops: the options of one limit, and the runs that it starts. */
import { randomUUID } from "node:crypto";
import { isObject } from "../../core/is-object.ts";
import { RUN_METER_IDS } from "../../core/meters.ts";
import { snapshot, type Snapshot } from "../../core/snapshot.ts";
import { quote } from "../../core/text.ts";
import { readOption } from "../../settings/budget.ts";
import {
	A_FUNCTION,
	expecting,
	COMMON_OTHERS,
	COMMON_SETTINGS,
	type CommonOptions,
	type OptionTable,
	readOptions,
} from "../../settings/options.ts";
import { type Resolved, resolve } from "../../settings/resolve.ts";
import { defaults } from "../../settings/settings.ts";
import { readGrace } from "../../settings/supplied.ts";
import type { PriceFunction, Spending } from "./amounts.ts";
import type { Ask } from "./asking.ts";
import { initialState } from "../../loop/initial-state.ts";
import { DrivenRun, expect, type LoopRun, type PlaceInTree } from "./run.ts";
import { readRun, type SavedRun } from "./saved-run.ts";
import { SessionBudget } from "./session-budget.ts";
import { ledgerDirectory } from "../../loop/sharing/ledger-directory.ts";
import { asParent, isParent, treeOf } from "../../loop/tree/parents.ts";
import { announcement, inherits, isOwn } from "../../loop/tree/inheritance.ts";
import { isAlive } from "../../loop/tree/process-start.ts";
import { limitsOf, lowered } from "../../loop/tree/root-limits.ts";
import { type Announced, readTree, type Tree, TREE_VARIABLE } from "../../loop/tree/tree-variable.ts";

/** Every option has the default of its setting. A limit's option is named like its meter. */
export type LoopOptions = CommonOptions & {
	/** Asks a person at a limit. Without it nobody is asked, and the policy applies. */
	readonly ask?: Ask;
	/**
	 * The agent that starts this one: a limit, or one of its runs. `"environment"`: the agent that started this
	 * process, if there is one and it is still running. Both share its tree, and nobody is asked here. Without `ask`
	 * and a terminal, one that has ended counts too, if its tree was used within the last hour.
	 */
	readonly parent?: object | "environment";
	/** What a charge without a cost has cost, in dollars. */
	readonly price?: (spent: Spending) => number | Promise<number>;
	/** Called with problems that stop nothing, such as a function of yours that threw. */
	readonly onProblem?: (problem: string) => void;
};

export interface StartOptions {
	/** Aborts when the person does. */
	readonly signal?: AbortSignal | undefined;
	/** Text from `save`: the run goes on, with its counts and these limits. */
	readonly from?: string | undefined;
}

export interface LoopLimit {
	/** Starts a run; there can be several at once. The session's limits count what they spend together. */
	start(options?: StartOptions): LoopRun;
	/** Every meter of the run started last; the session's meters have what all runs have spent. */
	snapshot(): Snapshot;
	/** Variables for the processes that a program starts: those of the run started last. */
	environment(): Record<string, string>;
}

const OPTIONS: OptionTable = {
	name: "loopLimit",
	settings: COMMON_SETTINGS,
	others: {
		...COMMON_OTHERS,
		ask: A_FUNCTION,
		price: A_FUNCTION,
		onProblem: A_FUNCTION,
		parent: expecting('a limit, a run, or "environment"', (value) => value === "environment" || isParent(value)),
	},
};

/** @throws RangeError or TypeError that names the option, its value and what was expected. */
export function loopLimit(options: LoopOptions = {}): LoopLimit {
	return limitFor(OPTIONS.name, options);
}

/** As an adapter sees it. */
interface DrivenLimit extends LoopLimit {
	start(options?: StartOptions): DrivenRun;
}

/** The same for an adapter, whose function has another name, and whose price is given what the adapter charges for. */
export function limitFor(
	name: string,
	options: Omit<LoopOptions, "price"> & { readonly price?: PriceFunction },
): DrivenLimit {
	const { values, policies } = readOptions({ ...OPTIONS, name }, options);
	const { parent, ask } = options;
	const grace = typeof options.grace === "function" ? options.grace : undefined;
	const wrapUpMessage = typeof options.wrapUpMessage === "function" ? options.wrapUpMessage : undefined;
	const found = options.budget === undefined ? undefined : readOption(options.budget);
	const budget = found?.kind === "budget" ? found.budget : undefined;
	const places = [{ values, name: () => "option", strength: "start" }] as const;
	const session = new SessionBudget();
	let last: DrivenRun | undefined;

	const placeIn = (tree: Tree | undefined, isMember: boolean): PlaceInTree => ({
		settings: settingsIn(isMember ? tree : undefined, isMember),
		sharing: { at: tree?.at ?? ledgerDirectory(), tree: tree?.name, isMember, budget },
	});

	const settingsIn = (tree: Tree | undefined, isMember: boolean): Resolved => {
		const { settings } = resolve(places, [], defaults(ask !== undefined && !isMember, true));
		return { ...lowered(settings, tree ?? { limits: {}, overruled: {} }), ...limitsOf(budget) };
	};

	const limit: DrivenLimit = {
		start: (start = {}) => {
			const { signal, from } = checkedStart(start);
			const saved = savedIn(from);
			const savedTree = readTree(saved?.tree)?.tree;
			const announced = parent === "environment" ? readTree(process.env[TREE_VARIABLE]) : undefined;
			const root = typeof parent === "string" ? rootIn(announced, savedTree) : parent && { tree: treeOf(parent) };
			const mayBeLate = announced !== undefined && root === undefined && savedTree === undefined && ask === undefined;
			const id = saved?.id ?? randomUUID();
			if (saved) void session.resume(id, spentBefore(saved));
			last = new DrivenRun({
				id,
				session,
				policies,
				signal,
				saved,
				place: placeIn(savedTree ?? root?.tree, root !== undefined),
				latePlace: mayBeLate
					? async () => ((await inherits(announced, true)) ? placeIn(announced.tree, true) : undefined)
					: undefined,
				grace,
				wrapUpMessage,
				ask,
				onOutcome: options.onOutcome,
				onProblem: options.onProblem,
				price: options.price,
			});
			return last;
		},
		snapshot: () => {
			if (last) return last.snapshot();
			const state = initialState(settingsIn(undefined, false), policies, false);
			return snapshot(grace ? { ...state, grace: readGrace(grace).value } : state);
		},
		environment: () => last?.environment() ?? { [TREE_VARIABLE]: announcement(0, undefined) },
	};
	asParent(limit, () => last?.tree);
	return limit;
}

/** Undefined: this agent is a root, as far as can be told at once. A run that was saved in the tree goes on there. */
function rootIn(
	announced: Announced | undefined,
	saved: Tree | undefined,
): { readonly tree: Tree | undefined } | undefined {
	if (announced === undefined || isOwn(announced)) return undefined;
	const wasMember = saved !== undefined && saved.name === announced.tree?.name;
	return wasMember || isAlive(announced) ? { tree: announced.tree } : undefined;
}

/** @throws TypeError */
function checkedStart(start: StartOptions): StartOptions {
	expect(isObject(start), "start(): expected an object of options", start);
	const unknown = Object.keys(start).find((option) => option !== "signal" && option !== "from");
	if (unknown !== undefined)
		throw new TypeError(`start(): unknown option ${quote(unknown)}. Known options: signal, from.`);
	const { signal } = start;
	expect(signal === undefined || signal instanceof AbortSignal, "signal: expected an AbortSignal", signal);
	return start;
}

/** @throws TypeError */
function savedIn(from: string | undefined): SavedRun | undefined {
	if (from === undefined) return undefined;
	const saved = readRun(from);
	if (saved === undefined) throw new TypeError("from: expected what save() has given.");
	return saved;
}

function spentBefore({ phase }: SavedRun): Record<string, number> {
	if (phase.name === "idle") return {};
	const { spent } = phase.run;
	return Object.fromEntries(RUN_METER_IDS.map((id) => [id, spent[id]]));
}
