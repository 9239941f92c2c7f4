/** Charges what a session spends; the ledger too, which is opened where a shared limit is set and nowhere else. */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Balances } from "../core/alphabet.ts";
import { isSharing } from "../core/gate.ts";
import { isLimited } from "../core/limit.ts";
import { kindOf, type Max, type MeterId, SHARED } from "../core/meters.ts";
import { isRetrying } from "../core/state.ts";
import type { Amounts, Ledger } from "../ledger/port.ts";
import type { Budget } from "../settings/budget.ts";
import type { Values } from "../settings/places.ts";
import { KEY_OF } from "../settings/settings.ts";
import { agentDirectory, type Context } from "./host.ts";
import type { Session } from "./session.ts";
import type { Agents } from "./membership.ts";
import type { Shares } from "./shares.ts";
import { announceRoot, type Tree } from "./tree.ts";

/** The ledger's folder in the agent directory. */
const DIRECTORY = "turn-limit-ledger";

/** Imported only here, because a lone pi needs none of it. */
async function sharesOf(session: Session): Promise<Shares> {
	const { Shares } = await import("./shares.ts");
	const at = session.role.tree?.at ?? join(agentDirectory(), DIRECTORY);
	const openHome = async () => {
		const { openSqlite } = await import("../ledger/sqlite.ts");
		mkdirSync(dirname(at), { recursive: true });
		return await openSqlite({ directory: at, within: dirname(at) });
	};
	const { budget } = session.settings;
	const open = budget === undefined ? openHome : await withFleet(openHome, budget);
	return (session.shares ??= new Shares(at, open, session.role.tree?.name, budget));
}

/** Opens the machine's ledger and the fleet's as one. */
async function withFleet(openHome: () => Promise<Ledger>, budget: Budget): Promise<() => Promise<Ledger>> {
	const { Ledgers } = await import("../ledger/ledgers.ts");
	const openFleet = async () => {
		const { openPostgres } = await import("../ledger/postgres.ts");
		return await openPostgres({ address: budget.at() });
	};
	const ids = new Map<string, string>();
	return () => Promise.resolve(new Ledgers(openHome, openFleet, ids));
}

/** Holds room for the next turn, and reports what came of it. */
export async function reserve(session: Session, ctx: Context): Promise<void> {
	const shares = await sharesOf(session);
	const event = await shares.reserve(session.state.meters, [ctx.signal, session.endSignal]);
	announce(session);
	if ("balances" in event) await adopt(session, event.balances, ctx);
	await session.step(event, ctx);
}

/**
 * A fleet's budget can have caps that our settings do not name: an operator's, or those of whoever joined first. A day or
 * a tree that has one has it from us, and a command may have lifted it since.
 */
async function adopt(session: Session, balances: Balances, ctx: Context): Promise<void> {
	for (const meter of SHARED.filter((id) => kindOf(id).scope === "budget")) {
		const told = balances[meter];
		if (told && !isLimited(session.state.meters[meter]))
			await session.step({ type: "limit_set", meter, max: told.cap }, ctx);
	}
}

export async function raise(session: Session, id: MeterId, by: number): Promise<void> {
	await (await sharesOf(session)).raise(id, by, session.state.meters);
}

/** Lets the agents that this session starts know their root, and the tree if it is limited. */
export function announce(session: Session): void {
	announceRoot(session.role, session.runs, treeOf(session));
}

/** Describes the tree to its members; undefined until it has begun. */
export function treeOf(session: Session): Tree | undefined {
	const { shares, state, settings } = session;
	if (shares?.tree === undefined) return undefined;
	const written = (maxOf: (id: MeterId) => Max): Values => {
		const limited = SHARED.map((id) => [id, maxOf(id)] as const).filter(([, max]) => max !== "unlimited");
		return Object.fromEntries(limited.map(([id, max]) => [KEY_OF[id], kindOf(id).unit.write(Number(max))]));
	};
	const limits = written((id) => shares.capOf(id, state.meters));
	return { name: shares.tree, at: shares.at, limits, overruled: written((id) => settings.overruled(id)) };
}

/** A turn was admitted. The repetition of a failed one is the same turn. */
export async function beginTurn(session: Session): Promise<void> {
	const { shares, state } = session;
	if (shares && !isRetrying(state)) await shares.beginTurn(state.meters);
}

/** Charges what was spent; `isTurn`: by the message that the model has completed. */
export async function charge(
	session: Session,
	amounts: Amounts | undefined,
	ctx: Context,
	isTurn = false,
): Promise<void> {
	if (amounts) await session.step({ type: "charged", amounts }, ctx);
	const { shares, state } = session;
	const told = isTurn
		? shares?.settleTurn(amounts ?? {}, state.meters)
		: amounts && shares?.charge(amounts, state.meters);
	if (told) await session.step({ type: "balanced", balances: await told }, ctx);
}

/**
 * Reads the ledger where something is shared. Reports a fault and changes nothing; the next gate meets it.
 * `isAsked`: by a person, who waits for a fleet's server.
 */
export async function readLedger(session: Session, ctx: Context, isAsked = false): Promise<Agents | undefined> {
	if (!isSharing(session.state)) return undefined;
	try {
		const { balances, agents } = await (await sharesOf(session)).read(session.state.meters, isAsked);
		await adopt(session, balances, ctx);
		await session.step({ type: "balanced", balances }, ctx);
		return agents;
	} catch (error) {
		session.display.warnOnce(`The shared budget cannot be read: ${(error as Error).message}`, ctx);
		return undefined;
	}
}
