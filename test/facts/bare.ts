/** pi without our extension. Extensions of a few lines show what the host does, so that a fact that changes has a name. */
import { host, type Extra, type Host, type HostOptions } from "../harness/index.ts";
import type { Scope } from "../harness/wait.ts";

/** A window so small that a reply which reports 8,100 tokens brings about a compaction. */
export const small = {
	modelFields: { contextWindow: 20_000 },
	settings: { compaction: { reserveTokens: 12_000, keepRecentTokens: 1 } },
};

/** A sandbox without our extension, with these in its place. */
export function bare(t: Scope, extensions: Extra | Extra[], options: HostOptions = {}): Promise<Host> {
	return host(t, { ...options, extension: false, after: [extensions].flat() });
}

/** The lines that the extensions wrote to standard error while pi printed its answer. */
export async function said(t: Scope, extensions: Extra | Extra[], options: HostOptions = {}): Promise<string[]> {
	const { stderr } = await (await bare(t, extensions, options)).print("go");
	return stderr.trimEnd().split("\n");
}

/** What left, in order: turns, summaries, cache warming. */
export function kinds({ model }: Host): string[] {
	return model.requests.map(({ kind }) => kind);
}
