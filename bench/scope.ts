import type { Scope } from "../test/harness/wait.ts";

/** BENCH_SHORT=1: fewer rounds, for a first look. */
export const isShort = Boolean(process.env["BENCH_SHORT"]);

/** Does something and then undoes what it has deferred. */
export async function scoped<T>(work: (t: Scope) => Promise<T>): Promise<T> {
	const undos: (() => unknown)[] = [];
	try {
		return await work({ after: (undo) => void undos.unshift(undo) });
	} finally {
		for (const undo of undos) await undo();
	}
}
