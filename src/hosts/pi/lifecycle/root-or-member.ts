/**
 * Tells the root of a tree of agents from its members, and pi's own session from those that others make in its process.
 *
 * Both are decided by what pi's command line does, once, so that no other extension changes the answer:
 * - The process is pi's own if the script that runs in it is pi's. Pi also sets a title and a variable, which serve where
 *   another program starts pi's script: the title can be replaced, and a program that pi's bash starts inherits the variable,
 *   but neither has both. It is decided when we are first loaded.
 * - Between the loading of the extensions of its first session and the start of that session pi makes its theme and, in a
 *   script, listens for SIGTERM. An extension or the list of sessions may have made a theme before; pi's is another one. A
 *   session that an extension opens in between can load one that makes a theme, but it is in print mode, and nobody
 *   begins to listen for SIGTERM as well.
 * - A session in the place of another (`/new`, `/resume`, `/fork`, a reload) is started with that reason, and only after
 *   the session that owned the process has left it.
 */
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../../../core/is-object.ts";
import { inherits, isOwn } from "../../../loop/tree/inheritance.ts";
import { readTree, type Tree, TREE_VARIABLE } from "../../../loop/tree/tree-variable.ts";
import type { Context } from "../host/api.ts";
import { processMemory } from "../host/process.ts";
import type { Rank } from "./guard.ts";

export interface Role {
	/** An agent started this session. */
	readonly isMember: boolean;
	/** Exit code and standard error of this process are this session's. */
	readonly ownsProcess: boolean;
	/** The tree that a member joins, if the root has limited it. */
	readonly tree?: Tree | undefined;
}

/** The role of one session: that of a root until its first event decides it. To be made when pi loads us. */
export class SessionRole implements Role {
	readonly #rank: Rank;
	readonly #given: (() => Role | undefined) | undefined;
	readonly #isStartedByPi = watchStart();
	#role: Role = { isMember: false, ownsProcess: false };
	#session: object | undefined;
	#hasEnded = false;

	/** `given`: the role, where pi's process does not tell it. */
	constructor(rank: Rank, given?: () => Role | undefined) {
		this.#rank = rank;
		this.#given = given;
	}

	get isMember(): boolean {
		return this.#role.isMember;
	}

	get ownsProcess(): boolean {
		return this.#role.ownsProcess;
	}

	get tree(): Tree | undefined {
		return this.#role.tree;
	}

	/** At the first event; `reason`: that of `session_start`, if it is the first. */
	async decide(ctx: Context, reason: string | undefined): Promise<void> {
		const { sessionManager, mode } = ctx;
		this.#session = sessionManager;
		// A program can go on with a session that has ended. A reload can also outlast its session.
		if (reason !== undefined && reason !== "reload") processMemory.ended?.delete(sessionManager);
		this.#hasEnded = processMemory.ended?.has(sessionManager) === true;
		const isStartedByPi = !this.#hasEnded && this.#isStartedByPi(reason, mode);
		this.#role = this.#given?.() ?? (await roleOf(ctx, isStartedByPi, this.#rank));
	}

	/** Somebody can be asked. A member has a person only in a terminal of its own: over rpc nobody may be listening. Nobody answers where pi is ending. */
	isAttended({ hasUI, mode }: Context): boolean {
		return hasUI && !this.#hasEnded && (!this.isMember || mode === "tui");
	}

	/** Does this only while the process is the session's own. */
	asOwner<A extends readonly unknown[]>(act: ((...args: A) => void) | undefined): (...args: A) => void {
		return (...args) => {
			if (this.ownsProcess) act?.(...args);
		};
	}

	/** The session ends; the next one in this process owns it. */
	end(): void {
		this.#hasEnded = true;
		if (this.#session) (processMemory.ended ??= new WeakSet()).add(this.#session);
		if (processMemory.owner === this.#session) processMemory.owner = undefined;
	}

	get hasEnded(): boolean {
		return this.#hasEnded;
	}
}

/** Gives, at the first event of the session, whether pi itself has started it. */
function watchStart(): (reason: string | undefined, mode: string) => boolean {
	processMemory.isPi ??= isPi();
	const theme = currentTheme();
	const known = process.listeners("SIGTERM");
	const isListening = (): boolean => process.listeners("SIGTERM").some((listener) => !known.includes(listener));
	return (reason = "startup", mode) => {
		if (reason !== "startup") return true;
		return currentTheme() !== theme && (mode === "rpc" || mode === "tui" || isListening());
	};
}

/** A program that embeds pi names the parents of the sessions that it limits; of those that an installed copy limits, as in pi, the environment does. */
async function roleOf(ctx: Context, isStartedByPi: boolean, rank: Rank): Promise<Role> {
	const { sessionManager: session, mode, hasUI } = ctx;
	const { isPi } = processMemory;
	if (!isPi && rank === "program") return { isMember: false, ownsProcess: false };
	if (isPi && isStartedByPi) processMemory.owner ??= session;
	const ownsProcess = processMemory.owner === session;
	const value = process.env[TREE_VARIABLE] ?? "";
	const announced = readTree(ownsProcess ? (processMemory.inherited ??= value) : value);
	const isFromHere = !ownsProcess && announced !== undefined && isOwn(announced);
	// Decided once in a session: at a reload, the agent that has started it may have ended.
	const hasJoined = isFromHere || processMemory.inheriting?.has(session) === true;
	const isScript = !hasUI && (mode === "print" || mode === "json");
	const isInherited = hasJoined || (await inherits(announced, isScript));
	if (isInherited) (processMemory.inheriting ??= new WeakSet()).add(session);
	const isMember = isInherited || (isPi === true && !ownsProcess);
	return { isMember, ownsProcess, tree: isInherited ? announced?.tree : undefined };
}

const THEME = Symbol.for("@earendil-works/pi-coding-agent:theme");

function currentTheme(): unknown {
	return (globalThis as { [THEME]?: unknown })[THEME];
}

function isPi(): boolean {
	const isTitled = process.env["PI_CODING_AGENT"] === "true" && /(^|\s)pi(-rpc)?$/.test(process.title);
	return isTitled || isScriptOfPi(process.argv[1] ?? "");
}

/** Its package says that it is pi's, under any name; under Bun the script is inside pi's binary. */
function isScriptOfPi(path: string): boolean {
	if (/^(\/\$bunfs|[A-Z]:[\\/]~BUN)[\\/]root[\\/]pi(\.exe)?$/.test(path)) return true;
	try {
		const [, folder] =
			/^(.*)[\\/](?:dist|src)[\\/](?:\w+[\\/])?(?:cli|rpc-entry)\.[jt]s$/.exec(realpathSync(path)) ?? [];
		if (folder === undefined) return false;
		const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
		return isObject(manifest) && "piConfig" in manifest;
	} catch {
		return false;
	}
}
