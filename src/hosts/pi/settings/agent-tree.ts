/** A session among the agents of its tree: what it shares with them, and how it names itself to those that it starts. */
import type { State } from "../../../core/state.ts";
import { ledgerDirectory } from "../../../loop/sharing/ledger-directory.ts";
import type { SharedLimits, Sharing } from "../../../loop/sharing/shared-limits.ts";
import { announcement } from "../../../loop/tree/inheritance.ts";
import { type Tree, TREE_VARIABLE } from "../../../loop/tree/tree-variable.ts";
import type { Role } from "../lifecycle/root-or-member.ts";
import type { SessionSettings } from "./session-settings.ts";

/** To be read when a shared limit is first used. */
export function sharingOf(role: Role, settings: SessionSettings): () => Sharing {
	return () => {
		const { tree, isMember } = role;
		return { at: tree?.at ?? ledgerDirectory(), tree: tree?.name, isMember, budget: settings.budget };
	};
}

/** The variable by which a session names itself to every process that it starts. */
export class Announcement {
	readonly #role: Role;
	readonly #shared: SharedLimits;
	readonly #settings: SessionSettings;
	/** The number of runs that have begun. */
	#runs = 0;

	constructor(role: Role, shared: SharedLimits, settings: SessionSettings) {
		this.#role = role;
		this.#shared = shared;
		this.#settings = settings;
	}

	/** Describes the session's own tree to its members; undefined until it has begun. */
	treeOf({ meters }: State): Tree | undefined {
		return this.#shared.treeOf(meters, (id) => this.#settings.overruled(id));
	}

	runBegins(state: State): void {
		this.#runs++;
		this.renew(state);
	}

	/** Names the tree that the session has inherited, or else its own. */
	renew(state: State): void {
		const { ownsProcess, tree: inherited } = this.#role;
		if (ownsProcess) process.env[TREE_VARIABLE] = announcement(this.#runs, inherited ?? this.treeOf(state));
	}
}
