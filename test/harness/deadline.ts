/** Loaded before the tests of a process: one that hangs, or the process after its last test, is named and ended. */
import { afterEach, beforeEach, type TestContext } from "node:test";

/** Longer than any test takes on a busy machine; set-up from the registry takes longest. */
const DEADLINE_MS = Number(process.env["PI_TEST_HANGS_AFTER"] || 300_000);

// Taken before a test puts its own in their place.
const { setTimeout, clearTimeout } = globalThis;

let waiting: NodeJS.Timeout | undefined;

/** From now on this is what has to go on. */
function expect(what: string): void {
	clearTimeout(waiting);
	const hangs = (): never => {
		console.error(`✖ ${what}: hangs, ended after ${DEADLINE_MS / 1000} s`);
		process.exit(1);
	};
	waiting = setTimeout(hangs, DEADLINE_MS).unref();
}

const nameOf = (t: unknown): string => (t as TestContext).fullName;

expect(`${process.argv[1]}, before its first test`);
beforeEach((t) => expect(nameOf(t)));
afterEach((t) => expect(`what follows ${nameOf(t)}`));
