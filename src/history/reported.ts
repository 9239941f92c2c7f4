/** Finds the part of the subagents' cost that is also in the sessions of the agents that started them. Pure. */
import { dirname, resolve } from "node:path";
import { sumSteps } from "./odds.ts";
import type { PastRun } from "./run.ts";
import type { Header } from "./session.ts";

/** A session, and where it lies. */
interface Placed {
	readonly path: string;
	readonly isDeeper: boolean;
	readonly header: Header;
	readonly runs: readonly PastRun[];
}

/**
 * The cost of subagents that tools have reported to these runs, so that it is part of the runs' cost. No report names a
 * subagent: it is taken to be about those that the session started during the run, up to what they cost.
 */
export function reportedTo(runs: readonly PastRun[], stored: readonly Placed[], subagents: readonly Placed[]): number {
	const counted = new Set(runs.filter(({ reported }) => reported > 0));
	const isStartedBy = startedBy(stored);
	return stored
		.flatMap((one) => one.runs.filter((run) => counted.has(run)).map((run) => ({ one, run })))
		.map(({ one, run }) => {
			const started = subagents.filter(({ header: { at } }) => run.at <= at && at <= run.until);
			const theirs = started.filter((other) => other !== one && isStartedBy(other, one));
			return Math.min(run.reported, sumSteps(theirs.flatMap(stepsOf), "cost"));
		})
		.reduce((all, cost) => all + cost, 0);
}

/** By the parent that a session names or, if that is none of these, by the project's folder. */
function startedBy(stored: readonly Placed[]): (subagent: Placed, by: Placed) => boolean {
	const paths = new Set(stored.map(({ path }) => path));
	const projects = new Set(stored.filter(({ isDeeper }) => !isDeeper).map(({ path }) => dirname(path)));
	const projectOf = (path: string): string => {
		const folder = dirname(path);
		return folder === path || projects.has(folder) ? folder : projectOf(folder);
	};
	return ({ path, header: { parent } }, by) => {
		const named = parent === undefined ? undefined : resolve(parent);
		return named !== undefined && paths.has(named) ? named === by.path : projectOf(path) === projectOf(by.path);
	};
}

function stepsOf({ runs }: Placed): PastRun["steps"] {
	return runs.flatMap(({ steps }) => steps);
}
