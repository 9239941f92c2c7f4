import type { Scope } from "../test/harness/wait.ts";

/** Does something and then undoes what it has deferred. */
export async function scoped<T>(work: (t: Scope) => Promise<T>): Promise<T> {
	const undos: (() => unknown)[] = [];
	try {
		return await work({ after: (undo) => void undos.unshift(undo) });
	} finally {
		for (const undo of undos) await undo();
	}
}
