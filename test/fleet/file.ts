import { after } from "node:test";
import type { Scope } from "../harness/wait.ts";

const undos: (() => unknown)[] = [];

/** All tests of a file. */
export const file: Scope = { after: (undo) => undos.push(undo) };

after(async () => {
	for (const undo of undos) await undo();
});
