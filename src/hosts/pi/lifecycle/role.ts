/**
 * Tells the root of a tree of agents from its members, and pi's own session from those that others make in its process.
 *
 * Both are decided by what pi's command line does, once, so that no other extension changes the answer:
 * - The process is pi's own if the script that runs in it is pi's. Pi also sets a title and a variable, which serve where
 *   another program starts pi's script: the title can be replaced, and a program that pi's bash starts inherits the variable,
 *   but neither has both. It is decided when we are first loaded.
 * - Pi makes its theme after it has loaded the extensions of its first session and before it starts that session. An
 *   extension or the list of sessions may have made a theme before; pi's is another one. Nobody makes a theme between the
 *   loading and the start of a session that an extension opens, neither before pi's own session has started nor after.
 * - A session in the place of another (`/new`, `/resume`, `/fork`, a reload) is started with that reason, and only after
 *   the session that owned the process has left it.
 */
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../../../settings/places.ts";
import { announcement, inherits, isOwn } from "../../../loop/tree/inheritance.ts";
import { readTree, type Tree, TREE_VARIABLE } from "../../../loop/tree/tree-variable.ts";
import { shared } from "../host/process.ts";

export interface Role {
	/** An agent started this session. */
	readonly isMember: boolean;
	/** Exit code and standard error of this process are this session's. */
	readonly ownsProcess: boolean;
	/** The tree that a member joins, if the root has limited it. */
	readonly tree?: Tree | undefined;
}

/** To be called when pi loads us. Gives, at the first event of the session, whether pi itself has started it. */
export function watchStart(): (reason: string | undefined) => boolean {
	shared.isPi ??= isPi();
	const theme = currentTheme();
	return (reason = "startup") => reason !== "startup" || currentTheme() !== theme;
}

/** The role of a session at its first event. In a program that embeds pi every session is a root. */
export async function roleOf(session: object, isStartedByPi: boolean, mode: string): Promise<Role> {
	if (!shared.isPi) return { isMember: false, ownsProcess: false };
	if (isStartedByPi) shared.owner ??= session;
	const ownsProcess = shared.owner === session;
	const value = process.env[TREE_VARIABLE] ?? "";
	const announced = readTree(ownsProcess ? (shared.inherited ??= value) : value);
	const isFromHere = !ownsProcess && announced !== undefined && isOwn(announced);
	const isInherited = isFromHere || (await inherits(announced, mode === "print" || mode === "json"));
	return { isMember: !ownsProcess || isInherited, ownsProcess, tree: isInherited ? announced?.tree : undefined };
}

/** Names this process to every process that it starts, with the tree that it has inherited or else its own. */
export function announce({ ownsProcess, tree: inherited }: Role, run: number, own?: Tree): void {
	if (ownsProcess) process.env[TREE_VARIABLE] = announcement(run, inherited ?? own);
}

/** The session ends; the next one in this process owns it. */
export function leaveProcess(session: object): void {
	if (shared.owner === session) shared.owner = undefined;
}

const THEME = Symbol.for("@earendil-works/pi-coding-agent:theme");

function currentTheme(): unknown {
	return (globalThis as { [THEME]?: unknown })[THEME];
}

function isPi(): boolean {
	const isTitled = process.env["PI_CODING_AGENT"] === "true" && /(^|\s)pi(-rpc)?$/.test(process.title);
	return isTitled || isScriptOfPi(process.argv[1] ?? "");
}

/** Its package says that it is pi's, under whatever name; Bun has the script inside of pi's binary. */
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
