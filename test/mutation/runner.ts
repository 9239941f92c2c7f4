/**
 * Stryker's test runner for tests that need no process of their own. Pi is loaded once, and each mutant runs only the
 * tests that reach it: a tenth of the time that a process for every mutant takes.
 */
import { readdirSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename, join, relative } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import {
	INSTRUMENTER_CONSTANTS,
	type InstrumenterContext,
	type Mutant,
	type Position,
	type StrykerOptions,
} from "@stryker-mutator/api/core";
import { commonTokens, declareClassPlugin, PluginKind, tokens } from "@stryker-mutator/api/plugin";
import {
	determineHitLimitReached,
	type DryRunResult,
	DryRunStatus,
	type MutantRunOptions,
	type MutantRunResult,
	MutantRunStatus,
	type TestResult,
	type TestRunner,
	type TestRunnerCapabilities,
	TestStatus,
	toMutantRunResult,
} from "@stryker-mutator/api/test-runner";
import { load, registered, type Registered, setPatience } from "./node-test.ts";
import { describeMutant, isListed, known } from "./survivors.ts";

const ROOT = join(import.meta.dirname, "../..");

const SHIM = new URL("./node-test.ts", import.meta.url).href;

/** Through it the mutants learn which of them is active, and tell who has reached them. */
const context = ((globalThis as Record<string, unknown>)[INSTRUMENTER_CONSTANTS.NAMESPACE] ??=
	{}) as InstrumenterContext;

/** Of the configuration. */
interface InProcess {
	/** By the beginning of a source's path: test files, and folders (`test/core/`) for all test files in them. */
	readonly judges: Readonly<Record<string, readonly string[]>>;
	/** Milliseconds after which a test hangs: ten times what any of them takes. */
	readonly patience: number;
	/** Sources that remember results, and would answer with those of the mutant before. */
	readonly remembering?: readonly string[];
}

/** Milliseconds. */
const QUICK = 300;

class SessionRunner implements TestRunner {
	static inject = tokens(commonTokens.options);
	/** In the order in which their tests run; the first failure ends a mutant. */
	readonly #files: readonly string[];
	readonly #remembering: readonly string[];
	#loaded: Promise<void> | undefined;
	#loads = 0;
	/** The tests that have killed a mutant, the last one first: it often kills the next one, which stands beside it. */
	#killers: string[] = [];
	/** Milliseconds that a test took last: the quick ones come first. */
	readonly #took = new Map<string, number>();
	/** What nobody caught while a test ran. */
	#uncaught: unknown[] = [];

	constructor(options: StrykerOptions) {
		const { judges, patience, remembering = [] } = options["inProcess"] as InProcess;
		const isMutated = (source: string): boolean => options.mutate.some((pattern) => pattern.startsWith(source));
		const chosen = Object.entries(judges).flatMap(([source, files]) => (isMutated(source) ? files : []));
		this.#files = [...new Set(chosen)].flatMap((path) => (path.endsWith("/") ? testsIn(path) : [path]));
		this.#remembering = remembering;
		setPatience(patience);
	}

	/** A static mutant, which acts while its module is loaded, needs all modules anew. */
	capabilities(): TestRunnerCapabilities {
		return { reloadEnvironment: true };
	}

	async dryRun(): Promise<DryRunResult> {
		await this.#load();
		const tests = await this.#run(registered, false);
		const { mutantCoverage = { static: {}, perTest: {} } } = context;
		return { status: DryRunStatus.Complete, tests, mutantCoverage };
	}

	async mutantRun({
		activeMutant,
		mutantActivation,
		testFilter,
		hitLimit,
		reloadEnvironment,
	}: MutantRunOptions): Promise<MutantRunResult> {
		const source = relative(ROOT, activeMutant.fileName);
		if (reloadEnvironment || this.#remembering.includes(source)) this.#loaded = undefined;
		// One that is known to survive would run all tests that reach it, for nothing. MUTATION=all looks again.
		if (process.env["MUTATION"] !== "all" && isKnown(activeMutant))
			return { status: MutantRunStatus.Survived, nrOfTests: 0 };
		if (mutantActivation === "static") context.activeMutant = activeMutant.id;
		const problem = await this.#load().then(
			() => undefined,
			(error: unknown) => error,
		);
		if (problem !== undefined) {
			const killedBy = registered[0]?.id ?? "";
			return toMutantRunResult({ status: DryRunStatus.Complete, tests: [failed(killedBy, problem, 0)] });
		}
		Object.assign(context, {
			activeMutant: activeMutant.id,
			hitCount: hitLimit === undefined ? undefined : 0,
			hitLimit,
		});
		const chosen = testFilter && new Set(testFilter);
		const reaching = registered.filter(({ id }) => chosen?.has(id) ?? true);
		const tests = await this.#run(this.#inOrder(reaching, basename(activeMutant.fileName, ".ts")), true);
		const { hitCount } = context;
		delete context.activeMutant;
		const tooOften = determineHitLimitReached(hitCount, hitLimit);
		return toMutantRunResult(tooOften ?? { status: DryRunStatus.Complete, tests });
	}

	/** The quick killers, the tests of the source's name if nothing is known of any, then all others by the time that they take. */
	#inOrder(tests: readonly Registered[], source: string): readonly Registered[] {
		const took = ({ id }: Registered): number => this.#took.get(id) ?? 0;
		const killers = this.#killers.flatMap((killer) => tests.filter((test) => test.id === killer && took(test) < QUICK));
		const own = this.#took.size === 0 ? tests.filter(({ id }) => id.includes(`/${source}.test.ts`)) : [];
		return [...new Set([...killers, ...own, ...tests.toSorted((a, b) => took(a) - took(b))])];
	}

	#load(): Promise<void> {
		return (this.#loaded ??= this.#loadAll());
	}

	async #loadAll(): Promise<void> {
		if (this.#loads++ === 0) this.#prepare();
		registered.length = 0;
		for (const file of this.#files) {
			const { href } = pathToFileURL(join(process.cwd(), file));
			await load(file, () => import(href));
		}
	}

	#prepare(): void {
		const own = pathToFileURL(join(process.cwd(), "/")).href;
		process.env["PROPERTIES"] = "quick";
		process.on("uncaughtException", (error) => this.#uncaught.push(error));
		process.on("unhandledRejection", (error) => {
			// A wait of the harness lasts longer than any test may: it began in the test of an earlier mutant.
			if (!/^Waited /.test((error as Error | undefined)?.message ?? "")) this.#uncaught.push(error);
		});
		process.exit = (code): never => {
			throw new Error(`The process would have ended with ${String(code)}.`);
		};
		registerHooks({
			resolve: (name, from, next) => {
				if (name === "node:test" && from.parentURL !== SHIM) return { url: SHIM, shortCircuit: true };
				const found = next(name, from);
				// Node loads a module again if its address is a new one.
				const isOurs = found.url.startsWith(own) && !/\/node_modules\/|\?/.test(found.url) && found.url !== SHIM;
				return isOurs ? { ...found, url: `${found.url}?load=${this.#loads}` } : found;
			},
		});
	}

	async #run(tests: readonly Registered[], bails: boolean): Promise<TestResult[]> {
		const results: TestResult[] = [];
		for (const test of tests) {
			const result = await this.#runOne(test);
			results.push(result);
			this.#took.set(test.id, result.timeSpentMs);
			if (!bails || result.status !== TestStatus.Failed) continue;
			this.#killers = [test.id, ...this.#killers.filter((id) => id !== test.id)];
			break;
		}
		return results;
	}

	async #runOne({ id, run }: Registered): Promise<TestResult> {
		const restore = rememberProcess();
		const started = performance.now();
		this.#uncaught = [];
		context.currentTestId = id;
		try {
			await run();
			await setImmediate();
			if (this.#uncaught.length > 0) throw this.#uncaught[0];
			return { id, name: id, status: TestStatus.Success, timeSpentMs: performance.now() - started };
		} catch (error) {
			return failed(id, error, performance.now() - started);
		} finally {
			delete context.currentTestId;
			restore();
		}
	}
}

function isKnown({ fileName, ...mutant }: Mutant): boolean {
	const file = relative(ROOT, fileName);
	const listed = known[file];
	if (listed === undefined) return false;
	// Unlike in reports, lines and columns count from 0 here.
	const shift = ({ line, column }: Position): Position => ({ line: line + 1, column: column + 1 });
	const location = { start: shift(mutant.location.start), end: shift(mutant.location.end) };
	const described = describeMutant(readFileSync(fileName, "utf8"), { ...mutant, location });
	return listed.some((survivor) => isListed(described, survivor));
}

function testsIn(folder: string): string[] {
	const names = readdirSync(folder).filter((name) => name.endsWith(".test.ts"));
	return names.sort().map((name) => folder + name);
}

function failed(id: string, error: unknown, timeSpentMs: number): TestResult {
	const failureMessage = error instanceof Error ? (error.stack ?? error.message) : String(error);
	return { id, name: id, status: TestStatus.Failed, failureMessage, timeSpentMs };
}

/** What a mutant does to the process must not reach the tests of the next one. */
function rememberProcess(): () => void {
	const { title, exitCode } = process;
	const env = { ...process.env };
	const listeners = process.listeners("exit");
	return () => {
		process.title = title;
		process.exitCode = exitCode;
		for (const name of Object.keys(process.env))
			if (!Object.hasOwn(env, name)) Reflect.deleteProperty(process.env, name);
		Object.assign(process.env, env);
		for (const listener of process.listeners("exit")) if (!listeners.includes(listener)) process.off("exit", listener);
	};
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, "sessions", SessionRunner)];
