/**
 * `npm run test:hosts`: the facts about pi that we rely on and the harness, on every supported host; what a host or a Node
 * can change, on every one beside that of `npm test`; and what we do on a host that is too old. Brings the hosts first, for which
 * it needs the registry once.
 *
 *     node scripts/test-hosts.ts                 all hosts
 *     node scripts/test-hosts.ts 1.5.0-node-24   some of them
 */
import { bringHost } from "./hosts.js";
import { passes } from "./suite.ts";

interface Host {
	/** The version; if not given, the one that is installed. */
	readonly pi?: string;
	/** The major version; if not given, the Node that runs this. */
	readonly node?: number;
	readonly tests: readonly string[];
}

const facts = ["test/facts/*.test.ts", "test/harness/*.test.ts"];
/** What is left out is ours on every host: reading settings and old sessions, and sums in the ledger. */
const ofHost = [
	...facts,
	"test/pi/!(advise|debts|meters|odds|repeats|status).test.ts",
	"test/loops/pi.test.ts",
	"test/company/*.test.ts",
	"test/tree/{detached,ends,periods,tree}.test.ts",
];
/** The terminal, SQLite, threads and processes. */
const ofNode = [
	...facts,
	"test/pi/{limit,memory,odds,outcomes,question,terminal}.test.ts",
	"test/tree/{ends,tree}.test.ts",
	"test/loops/two-hosts.test.ts",
];

const hosts: Record<string, Host> = {
	"0.87.1": { tests: facts },
	"1.3.0": { pi: "1.3.0", tests: ofHost },
	"1.5.0": { pi: "1.5.0", tests: [...ofHost, "test/package/*.test.ts"] },
	"1.5.0-node-24": { pi: "1.5.0", node: 24, tests: ofNode },
	"0.86.1": { pi: "0.86.1", tests: ["test/hosts/*.ts"] },
	"0.85.1": { pi: "0.85.1", tests: ["test/hosts/*.ts"] },
};

/** On one host. */
async function passesOn(name: string, { pi, node, tests }: Host): Promise<boolean> {
	process.env["PI_TEST_HOST"] = pi === undefined ? "" : await bringHost(pi);
	process.env["PI_TEST_NODE"] = node === undefined ? process.execPath : await bringHost(`node-${node}`);
	return await passes(`pi ${name}`, tests);
}

const wanted = process.argv.slice(2);
for (const name of wanted.length > 0 ? wanted : Object.keys(hosts)) {
	const host = hosts[name];
	if (!host) throw new RangeError(`No such host: ${name}. Known: ${Object.keys(hosts).join(", ")}`);
	if (!(await passesOn(name, host))) process.exitCode = 1;
}
