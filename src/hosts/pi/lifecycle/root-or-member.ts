/**
 * Tells the root of a tree of agents from its members, and pi's own session from those that others make in its process.
 *
 * Exit code, standard error and the person belong to pi's own session. What pi's command line alone does tells it, so that
 * no other extension can talk it out of it, by what it changes, does or runs, whether it is loaded before ours or after:
 * - Pi gives its sessions its built-in extensions. They are no part of what programs import, so a session that an extension
 *   opens has none. A session that has them is pi's own whatever was decided before, and so is its process.
 * - They can be switched off: by the settings, and since pi 1.0 by `--no-extensions`. Then the process is pi's own if the script
 *   that runs in it is, or if pi has set both its title and its variable; this is decided when we are first loaded. Pi makes its session
 *   before it loads any extension, and binds it to a mode, or at least makes its theme, before it starts it. An agent of another
 *   extension is younger, and the first such session keeps the process.
 * - A session in the place of another (`/new`, `/resume`, `/fork`, a reload) is started with that reason, and only after
 *   the session that owned the process has left it.
 *
 * Open, and only without the built-in extensions: another extension replaces `process.argv` and the title before we are loaded, or
 * puts an old theme back in a script; or, before pi's first session starts, it runs an agent in a session that is older than our
 * loading, and something has made a theme meanwhile.
 */
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../../../core/is-object.ts";
import { inherits, isOwn } from "../../../loop/tree/inheritance.ts";
import { readTree, type Tree, TREE_VARIABLE } from "../../../loop/tree/tree-variable.ts";
import { type Context, hasBuiltIn, type Pi } from "../host/api.ts";
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
	readonly #pi: Pick<Pi, "getCommands">;
	readonly #rank: Rank;
	readonly #given: (() => Role | undefined) | undefined;
	readonly #theme = currentTheme();
	#role: Role = { isMember: false, ownsProcess: false };
	#session: object | undefined;
	#hasEnded = false;

	/** `given`: the role, where pi's process does not tell it. */
	constructor(pi: Pick<Pi, "getCommands">, rank: Rank, given?: () => Role | undefined) {
		processMemory.isPi ??= isPi();
		processMemory.loadedAt ??= Date.now();
		this.#pi = pi;
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
		const { sessionManager } = ctx;
		this.#session = sessionManager;
		// A program can go on with a session that has ended. A reload can also outlast its session.
		if (reason !== undefined && reason !== "reload") processMemory.ended?.delete(sessionManager);
		this.#hasEnded = processMemory.ended?.has(sessionManager) === true;
		const given = this.#given?.();
		if (!given && !this.#hasEnded) this.#claimProcess(ctx, reason);
		this.#role = given ?? (await roleOf(ctx, this.#rank));
	}

	#claimProcess(ctx: Context, reason = "startup"): void {
		if (hasBuiltIn(this.#pi)) Object.assign(processMemory, { isPi: true, owner: ctx.sessionManager });
		else if (processMemory.isPi && (reason !== "startup" || this.#seemsStartedByPi(ctx)))
			processMemory.owner ??= ctx.sessionManager;
	}

	#seemsStartedByPi({ sessionManager, mode }: Context): boolean {
		// A header that somebody has spoilt has no time; a file can come from a machine whose clock is ahead.
		const at = Date.parse(sessionManager.getHeader()?.timestamp ?? "");
		const isYounger = at > Number(processMemory.loadedAt) && at <= Date.now();
		return !isYounger && (mode !== "print" || currentTheme() !== this.#theme);
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

/** A program that embeds pi names the parents of the sessions that it limits; of those that an installed copy limits, as in pi, the environment does. */
async function roleOf(ctx: Context, rank: Rank): Promise<Role> {
	const { sessionManager: session, mode, hasUI } = ctx;
	const { isPi } = processMemory;
	if (!isPi && rank === "program") return { isMember: false, ownsProcess: false };
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
