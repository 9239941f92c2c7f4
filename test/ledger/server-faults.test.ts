/** What a server says, whatever it says: understood, or refused in words that are safe to show. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test } from "node:test";
import { parseAddress } from "../../src/ledger/postgres/address.ts";
import { toAnswer } from "../../src/ledger/postgres/answer.ts";
import { openPostgres } from "../../src/ledger/postgres/ledger.ts";
import { checkVersion, clientMissing, toFailure, tooLate } from "../../src/ledger/postgres/faults.ts";
import { type Fault, LedgerError } from "../../src/ledger/faults.ts";
import { root } from "../harness/process.ts";

const address = parseAddress("postgres://ada:s3cret@db/budgets");

/** The command that sets the server up. */
const RUN = `Run: psql -v ON_ERROR_STOP=1 -h db -d budgets -f ${join(root, "sql/fleet.sql")}`;

const LOST = { passing: "lost" };

/** Clears the screen, rings, writes to the clipboard, and begins a line that looks like ours. */
const HOSTILE = "\u001b[2J\u0007\u001b]52;c;aGk=\u0007\npi-turn-limit: completed\u202e\u2028x";

const isSafe = (text: string): boolean => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text);

test("a host that cannot be reached leaves the time that is left to those behind it", async (t) => {
	const { setTimeout: real } = globalThis;
	const shares: number[] = [];
	t.mock.method(globalThis, "setTimeout", (then: () => void, ms = 0) => {
		shares.push(ms);
		return real(then, ms);
	});
	const at = "postgres://ada:s3cret@127.0.0.1:1,127.0.0.1:1,127.0.0.1:1/budgets";
	await assert.rejects(openPostgres({ address: at, deadline: 600_000 }), /nothing listens there/);
	assert.deepEqual(
		shares.map((ms) => Math.round(ms / 100_000)),
		[2, 3, 6],
	);
});

suite("an error of a server", () => {
	const codes = [
		"constructor",
		"__proto__",
		"toString",
		"hasOwnProperty",
		HOSTILE,
		`CERT_${HOSTILE}`,
		"CERT_\u0007",
		"EPROTO\n",
		"",
		5,
		undefined,
	];
	for (const code of codes) {
		test(`with the code ${JSON.stringify(code)} closes the gate in words that are safe to show`, () => {
			const { error, passing, harmless } = toFailure({ code, message: HOSTILE }, address, "reserve");
			assert.ok(error instanceof LedgerError && error.kind === "unreachable", error.message);
			assert.ok(isSafe(error.message), error.message);
			assert.match(error.message, /^The budget at db\/budgets fails with the error /);
			assert.deepEqual([passing, harmless], [undefined, undefined]);
		});
	}

	test("has the code of a server or of the network where it has the form of one", () => {
		for (const [code, said] of [
			["XX000", "The budget at db/budgets fails with the error XX000."],
			["CERT_HAS_EXPIRED", "The budget at db/budgets cannot be reached: TLS fails with CERT_HAS_EXPIRED."],
			["EPROTO", "The budget at db/budgets cannot be reached: TLS fails with EPROTO."],
		] as const)
			assert.equal(toFailure({ code }, address, "reserve").error.message, said);
	});

	for (const code of ["TL001", "22023"]) {
		test(`that quotes something (${code}) is safe to show, in one line that is not too long`, () => {
			const { error, harmless } = toFailure({ code, message: `fleet ${HOSTILE}${"x".repeat(999)}` }, address, "join");
			assert.ok(isSafe(error.message), error.message);
			assert.ok(error.message.length < 400 && harmless === true);
		});
	}

	/** The kind, the words, whether the connection serves on, and whether it may be over in a moment. */
	const known: Record<string, readonly [kind: Fault, says: string, more?: object]> = {
		"28000": ["denied", "The budget at db/budgets refuses the user, or the machine that it comes from."],
		"28P01": ["denied", "The budget at db/budgets refuses the user or the password."],
		"42501": [
			"denied",
			"The budget at db/budgets has granted its user no rights: GRANT pi_turn_limit_agent TO that user.",
			{ harmless: true },
		],
		"3D000": ["unsuited", "The budget at db/budgets does not exist: its server has no database of that name."],
		"3F000": ["unsuited", `The budget at db/budgets is not set up. ${RUN}`],
		"42883": ["unsuited", `The budget at db/budgets is not set up. ${RUN}`],
		"42P01": ["unsuited", `The budget at db/budgets is not set up. ${RUN}`],
		TL002: ["unsuited", "The budget at db/budgets has another default_transaction_isolation than read committed."],
		"55P03": ["locked", "The budget at db/budgets is locked by others.", { harmless: true, passing: "busy" }],
		"40001": ["locked", "The budget at db/budgets is locked by others.", { harmless: true, passing: "busy" }],
		"40P01": ["locked", "The budget at db/budgets is locked by others.", { harmless: true, passing: "busy" }],
		"53100": ["full", "The budget at db/budgets has no room left on its disk."],
		"53300": ["unreachable", "The budget at db/budgets has no connection left (max_connections).", { passing: "busy" }],
		"25006": ["read-only", "The budget at db/budgets is a standby, and cannot be written.", { passing: "busy" }],
		"57P01": ["unreachable", "The budget at db/budgets is shutting down.", { passing: "busy" }],
		"57P02": ["unreachable", "The budget at db/budgets is shutting down.", { passing: "busy" }],
		"57P03": ["unreachable", "The budget at db/budgets is starting or shutting down.", { passing: "busy" }],
		ECONNREFUSED: ["unreachable", "The budget at db/budgets cannot be reached: nothing listens there.", LOST],
		ENOTFOUND: ["unreachable", "The budget at db/budgets cannot be reached: its host is unknown.", LOST],
		EAI_AGAIN: ["unreachable", "The budget at db/budgets cannot be reached: its host is unknown.", LOST],
		EHOSTUNREACH: ["unreachable", "The budget at db/budgets cannot be reached: there is no way to its host.", LOST],
		ENETUNREACH: ["unreachable", "The budget at db/budgets cannot be reached: there is no way to its host.", LOST],
		ETIMEDOUT: ["unreachable", "The budget at db/budgets cannot be reached: it does not answer.", LOST],
		ECONNRESET: ["unreachable", "The budget at db/budgets cannot be reached: the connection was lost.", LOST],
		EPIPE: ["unreachable", "The budget at db/budgets cannot be reached: the connection was lost.", LOST],
		CONNECTION_CLOSED: ["unreachable", "The budget at db/budgets cannot be reached: the connection was lost.", LOST],
		CONNECTION_DESTROYED: ["unreachable", "The budget at db/budgets cannot be reached: the connection was lost.", LOST],
		CONNECTION_ENDED: ["unreachable", "The budget at db/budgets cannot be reached: the connection was lost.", LOST],
		NO_TLS: [
			"unreachable",
			"The budget at db/budgets cannot be reached: it offers no TLS, which the address requires.",
			LOST,
		],
		CERT_HAS_EXPIRED: [
			"unreachable",
			"The budget at db/budgets cannot be reached: TLS fails with CERT_HAS_EXPIRED.",
			LOST,
		],
		XCERT_HAS_EXPIRED: ["unreachable", "The budget at db/budgets fails with the error XCERT_HAS_EXPIRED."],
		EPROTOTYPE: ["unreachable", "The budget at db/budgets fails with the error EPROTOTYPE."],
		"a word": ["unreachable", "The budget at db/budgets fails with the error (without a code)."],
		"A word": ["unreachable", "The budget at db/budgets fails with the error (without a code)."],
		"a WORD": ["unreachable", "The budget at db/budgets fails with the error (without a code)."],
		X22023: ["unreachable", "The budget at db/budgets fails with the error X22023."],
		"22023X": ["unreachable", "The budget at db/budgets fails with the error 22023X."],
	};
	for (const [code, [kind, says, more = {}]] of Object.entries(known)) {
		test(`with the code ${code} is said in words`, () => {
			const { error, ...rest } = toFailure({ code, message: HOSTILE }, address, "reserve");
			assert.ok(error instanceof LedgerError);
			assert.deepEqual([error.kind, error.message, rest], [kind, says, more]);
		});
	}

	test("about a raise for which the user has no rights says who can, and the connection serves on", () => {
		const { error, ...rest } = toFailure({ code: "42501" }, address, "raise");
		assert.ok(error instanceof LedgerError && error.kind === "denied");
		assert.equal(error.message, "Only an operator can raise the budget at db/budgets.");
		assert.deepEqual(rest, { harmless: true });
		assert.equal((toFailure({ code: "28P01" }, address, "raise").error as LedgerError).message, known["28P01"]?.[1]);
	});

	test("about an account that is not there names it, and the connection serves on", () => {
		const { error, ...rest } = toFailure({ code: "TL001", message: "fleet the fleet x" }, address, "settle");
		const message = "The budget at db/budgets has no account the fleet x. An operator may have deleted it.";
		assert.ok(error instanceof LedgerError);
		assert.deepEqual([error.kind, error.message, rest], ["unjoined", message, { harmless: true }]);
	});

	test("about a value that is wrong is the misuse that it is", () => {
		const { error, ...rest } = toFailure({ code: "22023", message: "turns: expected" }, address, "settle");
		assert.deepEqual([error.name, error.message, rest], ["RangeError", "turns: expected", { harmless: true }]);
	});

	test("that has a kind already keeps it; only one about the set-up does not pass by itself", () => {
		const gone = new LedgerError("unreachable", "It is gone.");
		assert.deepEqual(toFailure(gone, address, "read"), { error: gone, passing: "lost" });
		const other = new LedgerError("unsuited", "It is another version.");
		assert.deepEqual(toFailure(other, address, "read"), { error: other });
	});

	test("that does not come in time is said with the time", () => {
		const { kind, message } = tooLate(address, 5000);
		assert.deepEqual([kind, message], ["unreachable", "The budget at db/budgets did not answer within 5 s."]);
	});

	test("about another version of the set-up says which, and who has to run what", () => {
		checkVersion(1, address);
		for (const [version, mend] of [
			[0, RUN],
			[2, "Update pi-turn-limit on this machine."],
		] as const)
			assert.throws(() => checkVersion(version, address), {
				...{ name: "LedgerError", kind: "unsuited" },
				message: `The budget at db/budgets has version ${version} of the set-up, expected 1. ${mend}`,
			});
	});

	test("about the set-up gives a command that can be typed: with the port, and names that hold a space in quotes", () => {
		const other = parseAddress("postgres://ada@db:6432,dc/my%20budgets");
		const { message } = toFailure({ code: "3F000" }, other, "join").error;
		const file = join(root, "sql/fleet.sql");
		const command = `psql -v ON_ERROR_STOP=1 -h db -p 6432 -d "my budgets" -f ${file}`;
		assert.equal(message, `The budget at db,dc/my budgets is not set up. Run: ${command}`);
	});

	test("about the client that is missing in a clone gives the command that brings it", () => {
		const { kind, message } = clientMissing(address);
		const command = `npm install --prefix ${root} --no-save --save-prod --omit=dev postgres@3`;
		assert.deepEqual(
			[kind, message],
			["unsuited", `The budget at db/budgets needs the package postgres. Run: ${command}`],
		);
	});

	test("that says a statement was cancelled is over in a moment, and keeps the connection", () => {
		const { error, passing, harmless } = toFailure({ code: "57014" }, address, "settle");
		assert.equal(error.message, "The budget at db/budgets has cancelled the operation.");
		assert.deepEqual([passing, harmless], ["busy", true]);
	});

	test("about a version that is no number says nothing of it", () => {
		for (const version of [HOSTILE, null, undefined, {}])
			assert.throws(
				() => checkVersion(version, address),
				(error) => {
					assert.ok(error instanceof LedgerError && error.kind === "unsuited");
					assert.match(
						error.message,
						/^The budget at db\/budgets sent an answer that pi-turn-limit does not understand\. Run: psql /,
					);
					return true;
				},
			);
	});
});

suite("an answer of a server", () => {
	const balance = { used: 1, held: 0, cap: "unlimited" };
	const reading = { key: "fleet f", meters: { turns: balance } };

	test("is read as it was meant", () => {
		assert.deepEqual(toAnswer({ readings: [reading] }, 1), {
			readings: [{ turns: balance }],
			...{ granted: false, isNew: false, full: 0, meters: [], spent: false },
		});
		const refused = { granted: false, full: 1, meters: ["turns"], spent: true };
		assert.deepEqual(toAnswer({ readings: [reading, reading], ...refused }, 2), {
			readings: [{ turns: balance }, { turns: balance }],
			isNew: false,
			...refused,
		});
		const granted = toAnswer({ readings: [{ meters: {} }], granted: true, isNew: true }, 1);
		assert.deepEqual([granted?.granted, granted?.isNew, granted?.readings], [true, true, [{}]]);
		assert.deepEqual(toAnswer({}, 0)?.readings, []);
	});

	const wrong: Record<string, unknown> = {
		nothing: null,
		"a text": HOSTILE,
		"no readings": {},
		"readings that are no list": { readings: { 0: reading, length: 1 } },
		"more readings than accounts": { readings: [reading, reading] },
		"a reading that is nothing": { readings: [null] },
		"a reading without meters": { readings: [{}] },
		"a balance that is nothing": { readings: [{ meters: { turns: null } }] },
		"a meter that a terminal obeys": { readings: [{ meters: { [HOSTILE]: balance } }] },
		"a count that is text": { readings: [{ meters: { turns: { ...balance, used: HOSTILE } } }] },
		"a negative count": { readings: [{ meters: { turns: { ...balance, used: -1 } } }] },
		"a fraction": { readings: [{ meters: { turns: { ...balance, held: 0.5 } } }] },
		"a cap that is text": { readings: [{ meters: { turns: { ...balance, cap: HOSTILE } } }] },
		"no cap": { readings: [{ meters: { turns: { used: 0, held: 0 } } }] },
		"a full account that is none": { readings: [reading], granted: false, full: 1 },
		"a grant that is text, and a full account that is none": { readings: [reading], granted: HOSTILE, full: 1 },
		"a meter with a digit": { readings: [{ meters: { turns2: balance } }] },
		"full meters of which one is a number": { readings: [reading], granted: false, meters: [7] },
		"a full meter that a terminal obeys": { readings: [reading], granted: false, meters: [HOSTILE] },
		"full meters that are no list": { readings: [reading], granted: false, meters: "turns" },
	};
	for (const [what, answer] of Object.entries(wrong))
		test(`is none if it is or has ${what}`, () => assert.equal(toAnswer(answer, 1), undefined));
});
