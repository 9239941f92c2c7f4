/** The person's odds: what their own sessions say at a question and in `/turn-limit`. Nothing waits for them. */
import { join } from "node:path";
import { isOfRound } from "../../../core/limit.ts";
import { kindOf, type MeterId } from "../../../core/meters.ts";
import { isBusy, type State } from "../../../core/state.ts";
import { isStale, loadOdds, ODDS_FILE, storeOdds } from "../../../history/odds-file.ts";
import { doneLine, type Odds, oddsLine } from "../../../history/odds.ts";
import type * as startModule from "../../../history/odds-start.ts";

/** Milliseconds between two tries to make the table, should it not come about. */
const PATIENCE = 3_600_000;

const DAMAGED = `Odds: ${ODDS_FILE} in pi's agent directory cannot be read. /turn-limit advise makes it again.`;

/** Loaded when a table is first made. Imported once, because pi's loader gives undefined to a second import under way. */
let loading: Promise<typeof startModule> | undefined;

export class PersonalOdds {
	readonly #directory: (() => string) | undefined;
	readonly #isOn: () => boolean;
	#tried = -Infinity;

	/** `directory`: pi's agent directory; in a program that embeds pi there are no odds. */
	constructor(directory: (() => string) | undefined, isOn: () => boolean) {
		this.#directory = directory;
		this.#isOn = isOn;
	}

	/** What became of prompts that came as far as the one that a person is asked about. */
	atQuestion(state: State, id: MeterId): readonly string[] {
		const odds = this.#load();
		if (typeof odds !== "object" || !isBusy(state) || !isOfRound(id)) return [];
		// A yes begins a new round of a meter; another extension's run goes on with the round of the prompt.
		const used = Math.max(state.phase.run.spent[kindOf(id).of], state.meters[id].used);
		const line = oddsLine(odds, id, used);
		return line === undefined ? [] : [line];
	}

	/** Where the present run stands among the person's prompts. */
	inStatus(state: State): readonly string[] {
		const odds = state.attended ? this.#load() : undefined;
		if (odds === "damaged") return [DAMAGED];
		const line = typeof odds === "object" && isBusy(state) ? doneLine(odds, state.phase.run.spent.turns) : undefined;
		return line === undefined ? [] : [`${line}.`];
	}

	/** Makes the table in a thread of its own, if it is older than a day. Gives nothing to wait for. */
	refresh(cwd: string, now = Date.now()): void {
		const path = this.#path;
		if (path === undefined || now - this.#tried < PATIENCE || !isStale(path, now)) return;
		this.#tried = now;
		this.#make(path, cwd);
	}

	/** Takes the table over from advice, if that has read all sessions of this person; else makes it. */
	async keep(odds: Odds, readIn: string, cwd: string): Promise<void> {
		const path = this.#path;
		if (path === undefined) return;
		try {
			const { locate } = await load();
			if (readIn === (await locate({ agentDir: join(path, ".."), cwd }))) storeOdds(path, odds);
			else this.#make(path, cwd);
		} catch {
			// Advice has been given; a question goes without the line.
		}
	}

	#make(path: string, cwd: string): void {
		load().then(
			({ makeOdds }) => makeOdds({ path, where: { agentDir: join(path, ".."), cwd } }),
			() => {},
		);
	}

	#load(): ReturnType<typeof loadOdds> | undefined {
		return this.#path === undefined ? undefined : loadOdds(this.#path);
	}

	get #path(): string | undefined {
		return this.#directory && this.#isOn() ? join(this.#directory(), ODDS_FILE) : undefined;
	}
}

function load(): Promise<typeof startModule> {
	return (loading ??= import("../../../history/odds-start.ts"));
}
