/** The person's odds: what their own sessions say at a question and in `/turn-limit`. Nothing waits for them. */
import type { Tally } from "../../../loop/tally.ts";
import { isOfRound } from "../../../core/limit.ts";
import { kindOf, type MeterId } from "../../../core/meters.ts";
import { type Busy, isBusy, type State } from "../../../core/state.ts";
import type { Spent } from "../../../core/outcome.ts";
import { processMemory } from "../host/process.ts";
import type * as oddsModule from "../../../history/odds-index.ts";

type History = typeof oddsModule;

/** Milliseconds between two attempts to make the table, whichever sessions of the process make them. */
const PATIENCE = 3_600_000;

/** Loaded by the first run with a person. Imported once, because pi's loader gives undefined to a second import under way. */
let loading: Promise<History> | undefined;

export class PersonalOdds {
	readonly #directory: (() => string) | undefined;
	readonly #isOn: () => boolean;
	#history: History | undefined;

	/** `directory`: pi's agent directory; in a program that embeds pi there are no odds. */
	constructor(directory: (() => string) | undefined, isOn: () => boolean) {
		this.#directory = directory;
		this.#isOn = isOn;
	}

	/** A question can come: loads what reads the table. */
	async prepare(): Promise<void> {
		if (this.#agentDir !== undefined) this.#history = await load();
	}

	/** What became of prompts that came as far as the one that a person is asked about. */
	atQuestion(state: State, id: MeterId, tally: Tally): readonly string[] {
		const [history, agentDir] = [this.#history, this.#agentDir];
		if (history === undefined || agentDir === undefined || !isBusy(state) || !isOfRound(id)) return [];
		const odds = history.loadOdds(agentDir);
		if (typeof odds === "string") return [];
		return history.oddsLine(odds, id, spentOf(state, tally)[kindOf(id).of]);
	}

	/** Where the present prompt stands among all of the person's prompts; a table that cannot be read is named. */
	async inStatus(state: State, tally: Tally): Promise<readonly string[]> {
		const agentDir = this.#agentDir;
		const history = state.attended && agentDir !== undefined ? await load() : undefined;
		if (history === undefined || agentDir === undefined) return [];
		const odds = history.loadOdds(agentDir);
		if (odds === "damaged") return [history.DAMAGED];
		return odds === "none" || !isBusy(state) ? [] : history.doneLine(odds, spentOf(state, tally).turns);
	}

	/** After a run: rebuilds the table in a background thread, if it is older than a day. Resolves when that has ended. */
	async refresh(cwd: string, now = Date.now()): Promise<void> {
		const agentDir = this.#agentDir;
		if (agentDir === undefined) return;
		const history = await load();
		const tried = (processMemory.oddsTried ??= new Map());
		const sinceThen = Math.abs(now - (tried.get(agentDir) ?? -Infinity));
		if (sinceThen < PATIENCE || history?.isStale(agentDir, now) !== true) return;
		tried.set(agentDir, now);
		await history.makeOdds({ agentDir, cwd });
	}

	/** Stores a table that `advise` made of all sessions in `readIn`, if that is where pi keeps this person's. */
	async keep(odds: oddsModule.Odds, readIn: string, cwd: string): Promise<void> {
		const agentDir = this.#agentDir;
		if (agentDir !== undefined) await (await load())?.keepOdds(odds, readIn, { agentDir, cwd });
	}

	/** Undefined if odds are switched off, or there is no such directory. */
	get #agentDir(): string | undefined {
		return this.#isOn() ? this.#directory?.() : undefined;
	}
}

/** A yes begins a new round of a meter, and another extension's run belongs to the prompt before it. */
function spentOf({ phase: { run } }: Busy, tally: Tally): Spent {
	return tally.sincePrompt(run.spent) ?? run.spent;
}

/** Undefined if it cannot be loaded, as after an update has taken it away. */
async function load(): Promise<History | undefined> {
	return await (loading ??= import("../../../history/odds-index.ts")).catch(() => undefined);
}
