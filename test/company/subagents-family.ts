/** An agent and the agents that it starts. One scripted model plays them all. */
import { dirname, join } from "node:path";
import {
	type Call,
	calls,
	cli,
	type Event,
	type Extra,
	type Host,
	host,
	type HostOptions,
	mark,
	type Reply,
	type Request,
	root,
	type Script,
	text,
} from "../harness/index.ts";
import type { Scope } from "../harness/wait.ts";

/** What the agent that starts others says when it has heard from them. */
export const DONE = "The parent is done.";

/** The reply to the nth turn of a child. */
export type Child = (n: number) => Reply;

/** Works until it is stopped, and says what it does. */
export const tireless: Child = (n) => ({ text: `Let me look at file ${n}.`, ...mark(`file${n}`) });

/** Works for some turns, then answers. */
export function answersAfter(turns: number, answer: string): Child {
	return (n) => (n <= turns ? tireless(n) : text(answer));
}

export interface FamilyOptions extends HostOptions {
	/** What the parent calls in its first turn. */
	starts: readonly Call[];
	/** An extension with a tool by which it starts children. */
	tool?: Extra;
	child: Child;
	/** What the parent does afterwards, before it ends by itself. */
	then?: readonly Reply[];
}

/**
 * A sandbox in which our extension is installed, so that children load it too. Prompt it with `go`. The environment is for
 * the children: the parent has 50 turns by a flag, which nobody inherits.
 */
export function family(t: Scope, { starts, tool, child, then = [], ...options }: FamilyOptions): Promise<Host> {
	const model: Script = (request) => {
		const n = request.body.messages.filter(({ role }) => role === "assistant").length;
		if (!isParent(request)) return child(n + 1);
		return [calls(...starts), ...then][n] ?? text(DONE);
	};
	return host(t, {
		args: ["--turn-limit", "50"],
		...options,
		model,
		settings: { packages: [root] },
		after: tool === undefined ? [] : [tool],
	});
}

function isParent(request: Request): boolean {
	return request.texts("user")[0] === "go";
}

/** The results of the parent's tool calls, as its model got them. */
export function handed({ model }: Host): string[] {
	return model.turns.filter(isParent).at(-1)?.texts("tool") ?? [];
}

/** How many turns of children have left. */
export function turnsOfChildren({ model }: Host): number {
	return model.turns.filter((request) => !isParent(request)).length;
}

/** What the tools of a run in json mode kept for the person, beside what they told the model. */
export function details(events: readonly Event[]): unknown[] {
	const ends = events.filter(({ type }) => type === "tool_execution_end");
	return ends.map(({ result }) => (result as { details: unknown }).details);
}

/** How a child of pi's example ended. */
export interface Exited {
	exitCode: number;
	stderr: string;
	stopReason: string;
	errorMessage?: string;
}

/** A child of pi's example subagent, as it ships with the pi that runs; the child's limits are in `env`. */
export async function exampleChild(
	t: Scope,
	child: Child,
	options: HostOptions,
): Promise<{ pi: Host; told: string; ended: Exited }> {
	const pi = await family(t, {
		...options,
		tool: join(dirname(cli), "../../examples/extensions/subagent/index.ts"),
		starts: [{ name: "subagent", args: { agent: "helper", task: "Look." } }],
		child,
		agentFiles: {
			"agents/helper.md": "---\nname: helper\ndescription: Looks.\n---\nYou look.\n",
			...options.agentFiles,
		},
	});
	const { events } = await pi.json("go");
	const [ended] = (details(events)[0] as { results: Exited[] }).results;
	const [told] = handed(pi);
	if (ended === undefined || told === undefined) throw new Error("The parent started no child.");
	return { pi, told, ended };
}
