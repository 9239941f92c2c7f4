/** Loaded before the tests of a process: one that hangs ends the process, and is named. */
import { afterEach, beforeEach, type TestContext } from "node:test";

/** Longer than any test takes on a busy machine; set-up from the registry takes longest. */
const DEADLINE_MS = Number(process.env["PI_TEST_HANGS_AFTER"] || 300_000);

const waiting = new Map<string, NodeJS.Timeout>();

beforeEach((t) => {
	const { fullName } = t as TestContext;
	const hangs = (): never => {
		console.error(`✖ ${fullName}: hangs, ended after ${DEADLINE_MS / 1000} s`);
		process.exit(1);
	};
	waiting.set(fullName, setTimeout(hangs, DEADLINE_MS).unref());
});

afterEach((t) => {
	const { fullName } = t as TestContext;
	clearTimeout(waiting.get(fullName));
	waiting.delete(fullName);
});
