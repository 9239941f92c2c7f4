/** Runs test files, several in one process: each process pays for its start, and again for the first pi that it starts. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
	existsSync,
	globSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { run } from "node:test";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { cli, node } from "../test/harness/process.ts";

const root = dirname(import.meta.dirname);

/** Tests here leave their process as they found it. */
const GROUPED = /^test\/(company|core|facts|history|ledger|library|pi|sessions|settings|tree)\//;

/** These start one program after the other. */
const LONG = /^test\/(docs\/start|package\/|setup\/)/;

/** So many processes share the grouped files that use a terminal, and so many the others. */
const GROUPS = { typing: 4, others: 7 };

/** An installed package to be tested. */
const EXTENSION = process.env["PI_TEST_EXTENSION"];

/** Runs the tests; names those that fail and says why, and the sum in one line. Gives whether all have passed. */
export async function passes(name: string, patterns: readonly string[]): Promise<boolean> {
	// In the project, so that the extension finds its packages.
	mkdirSync(join(root, ".hosts"), { recursive: true });
	const folder = mkdtempSync(join(root, ".hosts/suite-"));
	const started = Date.now();
	let [passed, failed] = [0, 0];
	/** Output of tests on standard error; shown where one fails. */
	let written = "";
	try {
		const found = globSync([...patterns], { cwd: root }).toSorted();
		console.log(`${name}: ${found.length} files`);
		const files = processesOf(found, folder);
		process.chdir(root);
		// Pi keeps its own compiled code there too.
		process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "node-compile-cache");
		process.env["PI_TEST_EXTENSION"] = EXTENSION ?? (await bundled(folder));
		// More than there are cores, because tests also wait.
		const execArgv = ["--import", pathToFileURL(join(root, "test/harness/deadline.ts")).href];
		const results = run({ files, concurrency: 3 * availableParallelism(), execArgv });
		results.on("test:pass", ({ details }) => {
			if (details.type !== "suite") passed++;
		});
		results.on("test:fail", ({ file = "", name: test, details: { type, error } }) => {
			if (type === "suite") return;
			failed++;
			const why = String(error.cause).replace(/^/gm, "    ");
			console.error(`✖ ${name}: ${relative(root, file)}: ${test}\n${why}\n`);
		});
		results.on("test:stderr", ({ message }) => (written += message));
		await results.resume().toArray();
	} finally {
		rmSync(folder, { recursive: true });
	}
	const isGood = failed === 0 && passed > 0;
	if (!isGood) process.stderr.write(written);
	const seconds = Math.round((Date.now() - started) / 1000);
	console.log(`${isGood ? "✔" : "✖"} ${name}, ${seconds} s:\n${passed} passed, ${failed} failed`);
	return isGood;
}

/**
 * The extension as a few modules: pi compiles them like the sources, and loads them in a tenth of the time. It keeps what it
 * has compiled by path, so the path stays as long as the sources do.
 */
async function bundled(folder: string): Promise<string> {
	const { outputFiles } = await build({
		...{
			absWorkingDir: root,
			entryPoints: [{ in: "pi-turn-limit/index.ts", out: "index" }, WORKER],
			outdir: join(folder, "pi-turn-limit"),
			outExtension: { ".js": ".ts" },
			write: false,
		},
		...{ bundle: true, splitting: true, packages: "external", platform: "node", format: "esm", target: "node22.19" },
	});
	const hash = createHash("sha256");
	for (const { path, text } of outputFiles) hash.update(`${basename(path)}\0${text}\0`);
	const place = join(root, ".hosts", `extension-${hash.digest("hex").slice(0, 12)}`);
	const extension = join(place, "pi-turn-limit");
	if (existsSync(extension)) return extension;
	for (const old of globSync(".hosts/extension-*", { cwd: root }))
		if (Date.now() - statSync(join(root, old)).mtimeMs > A_DAY) rmSync(join(root, old), { recursive: true });
	mkdirSync(place, { recursive: true });
	mkdirSync(join(folder, "pi-turn-limit"));
	for (const { path, contents } of outputFiles) writeFileSync(path, contents);
	// Another suite may have been faster.
	if (!existsSync(extension)) renameSync(join(folder, "pi-turn-limit"), extension);
	await compile(extension, folder);
	return extension;
}

const A_DAY = 24 * 60 * 60 * 1000;

/** Once, before several pis at a time would. */
async function compile(extension: string, folder: string): Promise<void> {
	const args = ["--offline", "--no-session", "--no-extensions", "-e", extension, "-p", "/turn-limit"];
	const env = { ...process.env, PI_CODING_AGENT_DIR: join(folder, "agent"), PI_OFFLINE: "1" };
	await once(spawn(node, [cli, ...args], { cwd: folder, env, stdio: "ignore" }), "exit");
}

/** The thread that makes the table of odds begins with a file of its own. */
const WORKER = { in: "src/history/odds-worker.ts", out: "odds-worker" };

/** One module per process, those that take long first. */
function processesOf(files: readonly string[], folder: string): string[] {
	const grouped = files.filter((file) => GROUPED.test(file));
	// They wait for a person's pauses more than they work, and share terminals.
	const typing = grouped.filter((file) => readFileSync(join(root, file), "utf8").includes(".terminal("));
	const others = grouped.filter((file) => !typing.includes(file));
	const alone = files.filter((file) => !grouped.includes(file));
	const long = alone.filter((file) => LONG.test(file));
	const short = alone.filter((file) => !long.includes(file));
	return [
		...long.map((file) => join(root, file)),
		...modules(typing, GROUPS.typing, join(folder, "typing")),
		...modules(others, GROUPS.others, join(folder, "others")),
		...short.map((file) => join(root, file)),
	];
}

/** Modules that import the files. Neighbours, which take about as long, go to different modules. */
function modules(files: readonly string[], count: number, path: string): string[] {
	return Array.from({ length: Math.min(count, files.length) }, (_, i) => {
		const members = files.filter((_, at) => at % count === i);
		const imports = members.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)).href)};\n`);
		writeFileSync(`${path}-${i}.mjs`, imports.join(""));
		return `${path}-${i}.mjs`;
	});
}
