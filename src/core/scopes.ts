/** The table of scopes: what a limit counts over. A new scope is a row here, in its place by width. */
export interface ScopeKind {
	/** Before the names of its meters: `sessionCost`, `session.maxCost`, `/turn-limit session cost`. A round has none. */
	readonly name: string;
	/** For `schema.json`: what it counts. */
	readonly about: string;
	/** Follows "spent" and "left": in this run. */
	readonly in: string;
	readonly for: string;
	/** What begins a new count: a prompt or a yes, a prompt, or neither. */
	readonly refilledBy: "round" | "prompt" | "nothing";
	/** Who may grant more: whoever is asked, only the root of a tree of agents, or only an operator of the fleet. */
	readonly grantedBy: "person" | "root" | "operator";
	/** Where it is counted: by the breaker itself, or in a ledger's account: a tree's or a calendar period's on this machine, or a fleet's. */
	readonly countedIn: "breaker" | "tree" | "period" | "fleet";
}

/** From the narrowest. */
export const SCOPES = {
	round: {
		name: "",
		about: "",
		in: "in this run",
		for: "for this run",
		refilledBy: "round",
		grantedBy: "person",
		countedIn: "breaker",
	},
	session: {
		name: "session",
		about: "Everything that this session spends, over all its prompts and branches, even after a resume.",
		in: "in this session",
		for: "for this session",
		refilledBy: "nothing",
		grantedBy: "person",
		countedIn: "breaker",
	},
	tree: {
		name: "tree",
		about: "Everything that a run and all the agents it starts spend.",
		in: "in this tree of agents",
		for: "for this tree of agents",
		refilledBy: "prompt",
		grantedBy: "root",
		countedIn: "tree",
	},
	day: {
		name: "day",
		about: "Everything that your agents spend on this machine on one calendar day.",
		in: "today",
		for: "for today",
		refilledBy: "nothing",
		grantedBy: "root",
		countedIn: "period",
	},
	week: {
		name: "week",
		about: "Everything that your agents spend on this machine in one calendar week, from Monday.",
		in: "this week",
		for: "for this week",
		refilledBy: "nothing",
		grantedBy: "root",
		countedIn: "period",
	},
	month: {
		name: "month",
		about: "Everything that your agents spend on this machine in one calendar month.",
		in: "this month",
		for: "for this month",
		refilledBy: "nothing",
		grantedBy: "root",
		countedIn: "period",
	},
	fleet: {
		name: "budget",
		about: "Everything that the agents of a fleet spend from one budget.",
		in: "in this fleet's budget",
		for: "for this fleet's budget",
		refilledBy: "nothing",
		grantedBy: "operator",
		countedIn: "fleet",
	},
} as const satisfies Readonly<Record<string, ScopeKind>>;

export type Scope = keyof typeof SCOPES;

/** The scopes that are stretches of the calendar; a fleet's budget has them too. */
export type Period = { [S in Scope]: (typeof SCOPES)[S]["countedIn"] extends "period" ? S : never }[Scope];

/** From the longest. */
export const PERIODS: readonly Period[] = (Object.keys(SCOPES) as Scope[]).filter(isPeriod).toReversed();

export function isPeriod(scope: Scope): scope is Period {
	return SCOPES[scope].countedIn === "period";
}

/** The scopes that only some meters have. */
export type WiderScope = Exclude<Scope, "round">;

export type WiderScopeName = (typeof SCOPES)[WiderScope]["name"];

/** From the narrowest. */
export const WIDER_SCOPES = Object.keys(SCOPES).filter((scope) => scope !== "round") as readonly WiderScope[];
