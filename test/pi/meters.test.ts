/** Every amount and every scope of the table on a real pi, just below and above its limit, with each place that can set it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { amount, amountIn } from "../../src/core/amount.ts";
import { isOfRound } from "../../src/core/limit.ts";
import { kindOf, METER_IDS, type MeterId } from "../../src/core/meters.ts";
import { KEY_OF, SETTINGS } from "../../src/settings/settings.ts";
import { endless, host, mark, outcomes, type Request, type Reply, spy, text, times } from "../harness/index.ts";
import { reply } from "../settings/status.ts";

interface Scene {
	/** What three turns of the scripted model spend, each with the same call; a reply is 550 tokens and one cent. */
	readonly limit: string;
	/** Requests until the run is over, where nobody can be asked. */
	readonly requests: number;
	/** Calls that run if the first question is answered with yes and the second with no. */
	readonly continued: number;
}

const ofTurns = { requests: 3, continued: 6 };
/** A yes grants a tenth, which one turn more than uses up. */
const ofSession = { requests: 3, continued: 4 };

/**
 * Time has tests of its own, and so has a fleet's budget, which needs a server. Every other pair of scope and amount is
 * asked about and stopped at in test/spec/session.test.ts.
 */
const SCENES: Readonly<Partial<Record<MeterId, Scene>>> = {
	turns: { limit: "3", ...ofTurns },
	toolCalls: { limit: "3", requests: 4, continued: 6 },
	cost: { limit: "$0.03", ...ofTurns },
	tokens: { limit: "1.65k", ...ofTurns },
	// The fourth call is refused with the reason, the fifth ends the run.
	repeats: { limit: "3", requests: 5, continued: 6 },
	sessionTurns: { limit: "3", ...ofSession },
	treeTurns: { limit: "3", ...ofSession },
	dayCost: { limit: "$0.03", ...ofSession },
	weekTokens: { limit: "1.65k", ...ofSession },
	monthTurns: { limit: "3", ...ofSession },
};

const ALONE = { PI_TURN_LIMIT_GRACE: "0" };
const FILE = "turn-limit.json";

/** Answers when it is told to. */
const obedient = ({ last }: Request): Reply => (/is spent|Not run/.test(last) ? text("All I have.") : mark());

for (const [name, { limit, requests, continued }] of Object.entries(SCENES)) {
	const id = name as MeterId;
	const { unit, title } = kindOf(id);
	const key = KEY_OF[id];
	const { env = "", flag, word = "" } = SETTINGS[key];
	const max = unit.read(unit.parse(limit))!;
	const shown = amountIn(id, max);
	const [file, inner] = key.split(".") as [string, string?];
	const inFile = { [file]: inner === undefined ? limit : { [inner]: limit } };
	const numeric = /^\d+$/.test(limit)
		? (JSON.parse(JSON.stringify(inFile).replaceAll(`"${limit}"`, limit)) as object)
		: inFile;

	test(`${id}: a run that spends exactly ${limit} is left alone`, async (t) => {
		const calls = kindOf(id).gates.includes("turn") ? 2 : 3;
		const pi = await host(t, { model: [...times(calls), text("done")], env: { ...ALONE, [env]: limit }, after: [spy] });
		const { stdout, stderr, code } = await pi.print("go");
		assert.deepEqual({ stdout, stderr, code }, { stdout: "done\n", stderr: "", code: 0 });
		assert.deepEqual(
			outcomes(pi).map(({ kind, turns }) => [kind, turns]),
			[["completed", calls + 1]],
		);
	});

	test(`${id}: where nobody can be asked ${limit} ends the run, and stderr says which limit and where it is set`, async (t) => {
		const byFlag =
			flag === undefined ? { env: { ...ALONE, [env]: limit } } : { env: ALONE, args: [`--${flag}`, limit] };
		const pi = await host(t, { model: endless(), ...byFlag, after: [spy] });
		const { stderr, code } = await pi.print("go");
		assert.equal(code, 53);
		const where = `at the limit of ${shown} (${flag === undefined ? env : `--${flag}`})`;
		const spent = isOfRound(id) ? "spent" : "spent in this run";
		assert.ok(stderr.startsWith(`pi-turn-limit: stopped ${where}, without an answer; ${spent}: `), stderr);
		assert.ok(stderr.includes(amount(kindOf(id).of, max)), stderr);
		assert.equal(pi.model.requests.length, requests);
		assert.equal(pi.marks().length, 3);
		const [outcome] = outcomes(pi) as { kind: string; meter: string; limit: number }[];
		assert.deepEqual([outcome?.kind, outcome?.meter, outcome?.limit], ["exhausted", id, unit.write(max)]);
	});

	test(`${id}: set by the user's file, under synthesize, ${limit} leads to an answer`, async (t) => {
		const agentFiles = { [FILE]: { ...numeric, policy: "synthesize", grace: 0 } };
		const pi = await host(t, { model: obedient, agentFiles, env: id === "repeats" ? { [env]: "" } : {}, after: [spy] });
		const { stdout, code } = await pi.print("go");
		// A refused call tells the model of its circle, and it finds a way out: the limit has done its work.
		const [kind, exit] = id === "repeats" ? ["completed", 0] : ["synthesized", 53];
		assert.deepEqual([stdout, code], ["All I have.\n", exit]);
		assert.deepEqual(
			outcomes(pi).map((outcome) => outcome.kind),
			[kind],
		);
		assert.equal(pi.marks().length, 3);
	});

	test(`${id}: set by the command, ${limit} asks; a yes buys what is granted, a no stops the run`, async (t) => {
		const pi = await host(t, { model: endless(), env: { [env]: "" }, after: [spy] });
		const rpc = await pi.rpc({ answer: (_question, n) => n === 1 });
		assert.equal(await reply(rpc, `${word} ${limit}`), `${title} set to ${unit.show(max)}.`);
		await rpc.run("go");
		assert.deepEqual(
			rpc.questions.map(({ title }) => title),
			[`${title} reached`, `${title} reached`],
		);
		assert.ok(
			rpc.questions[0]?.message?.startsWith(
				`${id === "repeats" ? `The same call ${limit} times in a row` : `You've used ${shown}`}. Continue?\n`,
			),
			rpc.questions[0]?.message,
		);
		assert.equal(pi.marks().length, continued);
		const [outcome] = outcomes(pi) as { kind: string; meter: string }[];
		assert.deepEqual([outcome?.kind, outcome?.meter], ["declined", id]);
	});
}

/** The meters of a fleet have no words or variables of their own. */
const NAMED = METER_IDS.filter((id) => SETTINGS[KEY_OF[id]].word !== undefined);

test("every meter says what it takes where a value is none", async (t) => {
	const rpc = await (await host(t)).rpc();
	for (const id of NAMED) {
		const { expected, word = "" } = SETTINGS[KEY_OF[id]];
		for (const bad of ["-1", "many", "1e3", "5 5"]) {
			const said = await reply(rpc, `${word || "turns"} ${bad}`);
			assert.equal(said, `${word || "turns"}: expected ${expected}, got "${bad}". Nothing has changed.`);
		}
		const increase = await reply(rpc, `${word || "turns"} +0`);
		assert.match(increase, /: expected an increase such as \+\S+, got "\+0"\. Nothing has changed\.$/);
	}
});

test("a bad variable of any meter is named with what is used instead, and a script does not start with it", async (t) => {
	const env = Object.fromEntries(NAMED.map((id) => [SETTINGS[KEY_OF[id]].env ?? "", "many"]));
	const pi = await host(t, { env });
	const { stderr, code } = await pi.print("go");
	assert.deepEqual([code, pi.model.requests.length], [1, 0]);
	const [warning] = (await pi.rpc()).notifications;
	for (const id of NAMED) {
		const { env: variable = "", expected } = SETTINGS[KEY_OF[id]];
		const what = `${variable}: expected ${expected}, got "many".`;
		assert.ok(stderr.includes(what), stderr);
		assert.ok(warning?.message.includes(`${what} Using `), warning?.message);
	}
});
