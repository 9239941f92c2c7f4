/**
 * Stands in for `node:test` where Stryker judges mutants: registers tests, so that they can run again and again in one
 * process. It knows what our tests use of it.
 */
import { mock } from "node:test";

/** A test that can be run. */
export interface Registered {
	/** Its file, its suites and its name. */
	readonly id: string;
	/** Rejects if the test fails. */
	readonly run: () => Promise<void>;
}

/** As our tests see it. */
interface Context {
	readonly mock: typeof mock;
	after: (undo: () => unknown) => void;
	diagnostic: () => void;
}

type Body = (t: Context) => unknown;

/** In the order of the files. */
export const registered: Registered[] = [];

let path: readonly string[] = [];

/** What the file has done before its tests. */
let preparations: (() => unknown)[] = [];

/** Registers what a file declares while it is loaded. */
export async function load(file: string, importFile: () => Promise<unknown>): Promise<void> {
	path = [file];
	preparations = [];
	await importFile();
}

export function describe(name: string, declare: () => void): void {
	const around = path;
	path = [...around, name];
	declare();
	path = around;
}

export { describe as suite, mock, test as it };

/** A process that judges ends its terminals with itself. */
export function after(): void {}

/** Before each test of the file, because each undoes what was mocked. */
export function before(prepare: () => unknown): void {
	preparations.push(prepare);
}

export function test(name: string, body: Body): void {
	const id = [...path, name].join(" > ");
	const prepared = preparations;
	const run = async (t: Context): Promise<void> => {
		for (const prepare of prepared) await prepare();
		await body(t);
	};
	registered.push({ id, run: () => runBody(run) });
}

let patience = Infinity;

/** A test that takes longer, in milliseconds, hangs and has failed. */
export function setPatience(ms: number): void {
	patience = ms;
}

// Taken before a test puts its own in their place.
const { setTimeout, clearTimeout } = globalThis;

async function runBody(body: Body): Promise<void> {
	const undos: (() => unknown)[] = [];
	let timer: NodeJS.Timeout | undefined;
	const hangs = new Promise<never>((_resolve, reject) => {
		timer = setTimeout(() => reject(new Error(`The test takes more than ${patience} ms.`)), patience);
	});
	try {
		await Promise.race([body({ mock, after: (undo) => undos.push(undo), diagnostic: () => {} }), hangs]);
	} finally {
		clearTimeout(timer);
		for (const undo of undos) await undo();
		mock.timers.reset();
		mock.restoreAll();
	}
}
