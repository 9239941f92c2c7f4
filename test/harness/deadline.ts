/** Loaded before the tests of a process: one that hangs, or the process after its last test, is named and ended, with all that it has started. */
import { execFileSync } from "node:child_process";
import { writeSync } from "node:fs";
import { afterEach, beforeEach, type TestContext } from "node:test";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

/** Longer than any test takes on a busy machine; set-up from the registry takes longest. */
const DEADLINE_MS = Number(process.env["PI_TEST_HANGS_AFTER"] || 300_000);

const WATCHES = "watches the main thread";

if (isMainThread) tellWatcher();
else if (workerData === WATCHES) watch();

function tellWatcher(): void {
	const watcher = new Worker(new URL(import.meta.url), { workerData: WATCHES, execArgv: [] });
	watcher.unref();
	/** From now on this is what has to go on. */
	const expect = (what: string): void => watcher.postMessage(what);
	const nameOf = (t: unknown): string => (t as TestContext).fullName;
	expect(`${process.argv[1]}, before its first test`);
	beforeEach((t) => expect(nameOf(t)));
	afterEach((t) => expect(`what follows ${nameOf(t)}`));
}

/** In a thread of its own, because a test can keep the main thread from ever looking at a timer. */
function watch(): void {
	let waiting: NodeJS.Timeout | undefined;
	parentPort?.on("message", (what: string) => {
		clearTimeout(waiting);
		waiting = setTimeout(() => {
			// The console of a thread goes through the main thread.
			writeSync(2, `✖ ${what}: hangs, ended after ${DEADLINE_MS / 1000} s\n`);
			try {
				startedBy(process.pid).forEach(end);
			} finally {
				end(process.pid);
			}
		}, DEADLINE_MS);
	});
}

/** The processes that this one has started, and those that they have. */
function startedBy(pid: number): number[] {
	const table = execFileSync("ps", ["-A", "-o", "ppid=,pid="], { encoding: "utf8" });
	const rows = table.split("\n").map((row) => row.trim().split(/\s+/).map(Number));
	const below = (parent: number): number[] =>
		rows.filter(([of]) => of === parent).flatMap(([, child = 0]) => [child, ...below(child)]);
	return below(pid);
}

function end(pid: number): void {
	try {
		process.kill(pid, "SIGKILL");
	} catch {
		// It has ended.
	}
}
