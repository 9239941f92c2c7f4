/**
 * `npm run test:hosts`: the facts about pi that we rely on and the harness, on every supported host; the tests on a real
 * pi, on every one beside that of `npm test`; and what we do on a host that is too old. Brings the hosts first, for which
 * it needs the registry once.
 *
 *     node scripts/test-hosts.ts                 all hosts
 *     node scripts/test-hosts.ts 1.5.0-node-24   some of them
 */
import { availableParallelism } from "node:os";
import { dirname, relative } from "node:path";
import { run } from "node:test";
import { bringHost } from "./hosts.js";

interface Host {
	/** The version; if not given, the one that is installed. */
	readonly pi?: string;
	/** The major version; if not given, the Node that runs this. */
	readonly node?: number;
	readonly tests: string[];
}

const root = dirname(import.meta.dirname);

const facts = ["test/facts/*.test.ts", "test/harness/*.test.ts"];
const alone = [...facts, "test/pi/*.test.ts"];
const all = [...alone, "test/company/*.test.ts", "test/tree/*.test.ts", "test/package/*.test.ts"];

const hosts: Record<string, Host> = {
	"0.87.1": { tests: facts },
	"1.3.0": { pi: "1.3.0", tests: all },
	"1.5.0": { pi: "1.5.0", tests: all },
	"1.5.0-node-24": { pi: "1.5.0", node: 24, tests: alone },
	"0.86.1": { pi: "0.86.1", tests: ["test/hosts/*.ts"] },
	"0.85.1": { pi: "0.85.1", tests: ["test/hosts/*.ts"] },
};

/** Runs the tests of one host; tells which failed and why, and the sum in one line. Gives whether all passed. */
async function passes(name: string, { pi, node, tests }: Host): Promise<boolean> {
	process.env["PI_TEST_HOST"] = pi === undefined ? "" : await bringHost(pi);
	process.env["PI_TEST_NODE"] = node === undefined ? process.execPath : await bringHost(`node-${node}`);
	let passed = 0;
	let failed = 0;
	const started = Date.now();
	const results = run({ globPatterns: tests, concurrency: availableParallelism() });
	results.on("test:pass", ({ details }) => {
		if (details.type !== "suite") passed++;
	});
	results.on("test:fail", ({ file = "", name: test, details: { type, error } }) => {
		if (type === "suite") return;
		failed++;
		const why = String(error.cause).replace(/^/gm, "    ");
		console.error(`✖ pi ${name}: ${relative(root, file)}: ${test}\n${why}\n`);
	});
	results.on("test:stderr", ({ message }) => process.stderr.write(message));
	await results.resume().toArray();
	const seconds = Math.round((Date.now() - started) / 1000);
	const ok = failed === 0 && passed > 0;
	console.log(`${ok ? "✔" : "✖"} pi ${name}: ${passed} passed, ${failed} failed, in ${seconds} s`);
	return ok;
}

const wanted = process.argv.slice(2);
process.chdir(root);
for (const name of wanted.length > 0 ? wanted : Object.keys(hosts)) {
	const host = hosts[name];
	if (!host) throw new RangeError(`No such host: ${name}. Known: ${Object.keys(hosts).join(", ")}`);
	if (!(await passes(name, host))) process.exitCode = 1;
}
