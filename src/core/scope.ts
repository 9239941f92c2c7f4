/** The scopes of limits, in words. */
import type { Scope } from "./kind.ts";

export interface ScopeWords {
	/** Follows "spent" and "left": in this run. */
	readonly in: string;
	readonly for: string;
}

/** The scopes that only some meters have. */
export type WiderScope = Exclude<Scope, "round">;

interface WiderScopeWords extends ScopeWords {
	readonly about: string;
}

/** From the narrowest. */
export const SCOPES: Readonly<Record<Scope, ScopeWords> & Record<WiderScope, WiderScopeWords>> = {
	round: { in: "in this run", for: "for this run" },
	session: {
		about: "Everything that this session spends, over all its prompts and branches, also after it is resumed.",
		in: "in this session",
		for: "for this session",
	},
	tree: {
		about: "Everything that a run spends, and all agents that it starts.",
		in: "in this tree of agents",
		for: "for this tree of agents",
	},
	day: {
		about: "Everything that your agents spend on this machine on one calendar day.",
		in: "today",
		for: "for today",
	},
	budget: {
		about: "Everything that the agents of a fleet spend of one budget.",
		in: "in this fleet's budget",
		for: "for this fleet's budget",
	},
};

export const WIDER_SCOPES = Object.keys(SCOPES).filter((scope) => scope !== "round") as readonly WiderScope[];
