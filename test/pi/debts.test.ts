/** What an agent has spent when the ledger becomes unusable in its last turn. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { endless, host, type Host, type HostOptions, mark, type Reply, text } from "../harness/index.ts";

const DAY = { PI_TURN_LIMIT_DAY_COST: "5", PI_TURN_LIMIT_GRACE: "0" };

/** A reply of five dollars. */
const dear: Reply = { ...text("done"), usage: { prompt: 500 * 500, completion: 50 * 500 } };

const ledger = ({ agentDir }: Host): string => join(agentDir, "turn-limit-ledger");
const debts = (pi: Host): string => `${ledger(pi)}.debts`;

/** The ledger cannot be used, until `mend`. */
function harm(pi: Host): void {
	renameSync(ledger(pi), `${ledger(pi)}.old`);
	writeFileSync(ledger(pi), "");
}

function mend(pi: Host): void {
	rmSync(ledger(pi));
	renameSync(`${ledger(pi)}.old`, ledger(pi));
}

/** A pi whose ledger becomes unusable while the model answers its first request. */
async function harmed(t: Parameters<typeof host>[0], options: HostOptions = {}, atHarm = harm): Promise<Host> {
	const model = (_request: unknown, n: number): Reply => {
		if (n === 1) atHarm(pi);
		return dear;
	};
	const pi: Host = await host(t, { model, env: DAY, ...options });
	return pi;
}

const KEPT = (pi: Host): string =>
	`pi-turn-limit: Not yet counted in the shared budget: 1 turn, $5.00, 275k tokens. It is saved, and counted when the budget is next used. The ledger is refused: ${ledger(pi)} is not a directory.\n`;

for (const mode of ["print", "json"] as const) {
	test(`the last turn of a script (${mode}) is kept, said and counted by the next one`, async (t) => {
		const pi = await harmed(t);
		const { code, stderr } = await pi[mode]("go");
		assert.deepEqual([code, stderr], [0, KEPT(pi)]);
		const [file = ""] = readdirSync(debts(pi));
		assert.equal(statSync(join(debts(pi), file)).mode & 0o777, 0o600);
		assert.equal(statSync(debts(pi)).mode & 0o777, 0o700);
		mend(pi);
		const second = await pi.print("go");
		assert.match(second.stderr, /^pi-turn-limit: stopped at the limit of \$5\.00 today /);
		assert.deepEqual([second.code, pi.model.requests.length, readdirSync(debts(pi))], [53, 1, []]);
	});
}

for (const mode of ["print", "json"] as const) {
	test(`a script (${mode}) whose last turn cannot be kept exits with 1 and says what is lost`, async (t) => {
		const pi = await harmed(t, {}, (pi) => {
			harm(pi);
			writeFileSync(debts(pi), "");
		});
		const { code, stdout, stderr } = await pi[mode]("go");
		assert.equal(code, 1);
		assert.match(stdout, mode === "print" ? /^done\n$/ : /"done"/);
		assert.match(
			stderr,
			/^pi-turn-limit: Not counted in the shared budget: 1 turn, \$5\.00, .*\. It is lost when this process ends\. The ledger is refused: .* A debt cannot be kept in .*: EEXIST.*\n$/,
		);
	});
}

test("a line break in the name of the agent directory makes no line of its own", async (t) => {
	const pi = await harmed(t, {}, ({ env }) => {
		const at = join(env["PI_CODING_AGENT_DIR"] ?? "", "turn-limit-ledger");
		renameSync(at, `${at}.old`);
		writeFileSync(at, "");
	});
	const odd = `${pi.agentDir}\npi-turn-limit: completed`;
	renameSync(pi.agentDir, odd);
	Object.assign(pi.env, { PI_CODING_AGENT_DIR: odd });
	const { stderr } = await pi.print("go");
	assert.match(stderr, /^pi-turn-limit: Not yet counted in the shared budget: .* is not a directory\.\n$/);
});

test("a member that has an answer keeps its debt and says nothing", async (t) => {
	const pi = await harmed(t, { fresh: true });
	const start = readFileSync(`/proc/${process.pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19];
	pi.env["PI_TURN_LIMIT_ROOT"] = `${process.pid}.${start}.1`;
	assert.deepEqual(await pi.print("go"), { code: 0, stdout: "done\n", stderr: "", signal: null });
	assert.equal(readdirSync(debts(pi)).length, 1);
});

test("who quits pi in the terminal while a turn is under way loses none of what it has spent", async (t) => {
	const model = (_request: unknown, n: number): Promise<Reply> | Reply => {
		if (n === 1) harm(pi);
		return n === 1 ? new Promise(() => {}) : dear;
	};
	const pi: Host = await host(t, { model, env: { PI_TURN_LIMIT_DAY_TURNS: "1", PI_TURN_LIMIT_GRACE: "0" } });
	const tui = await pi.terminal();
	tui.type("go\r");
	await pi.model.arrival(1);
	tui.press("ctrl+c");
	tui.press("ctrl+c");
	assert.equal(await tui.exit(), 0);
	assert.equal(readdirSync(debts(pi)).length, 1);
	mend(pi);
	const { code } = await pi.print("go");
	assert.deepEqual([code, pi.model.requests.length], [53, 1]);
});

test("what a traveller spent without the ledger counts in the day that runs, and begins no other", async (t) => {
	const env = { PI_TURN_LIMIT_DAY_TURNS: "4", PI_TURN_LIMIT_GRACE: "0", TZ: "Pacific/Auckland" };
	const pi = await host(t, { model: (_request, n) => (n < 4 ? text("done") : mark()), env, fresh: true });
	await pi.print("one");
	await pi.print("two");
	pi.env["TZ"] = "America/Los_Angeles";
	harm(pi);
	const rpc = await pi.rpc({ answer: "yes" });
	await rpc.run("three");
	await rpc.close();
	mend(pi);
	const { code } = await pi.print("four");
	assert.deepEqual([code, pi.model.requests.length], [53, 4]);
});

test("a script whose ledger works leaves nothing behind", async (t) => {
	const pi = await host(t, { model: endless(text("done")), env: DAY });
	assert.deepEqual(await pi.print("go"), { code: 0, stdout: "done\n", stderr: "", signal: null });
	assert.equal(existsSync(debts(pi)), false);
});
