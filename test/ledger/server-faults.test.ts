/** What a server says, whatever it says: understood, or refused in words that are safe to show. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseAddress } from "../../src/ledger/postgres/address.ts";
import { toAnswer } from "../../src/ledger/postgres/answer.ts";
import { checkVersion, toFailure } from "../../src/ledger/postgres/faults.ts";
import { LedgerError } from "../../src/ledger/port.ts";

const address = parseAddress("postgres://ada:s3cret@db/budgets");

/** Clears the screen, rings, writes to the clipboard, and begins a line that looks like ours. */
const HOSTILE = "\u001b[2J\u0007\u001b]52;c;aGk=\u0007\npi-turn-limit: completed\u202e\u2028x";

const isSafe = (text: string): boolean => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text);

suite("an error of a server", () => {
	const codes = [
		"constructor",
		"__proto__",
		"toString",
		"hasOwnProperty",
		HOSTILE,
		`CERT_${HOSTILE}`,
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
						/^The budget at db\/budgets gives an answer that has no meaning here\. Run: psql /,
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
		"a full meter that a terminal obeys": { readings: [reading], granted: false, meters: [HOSTILE] },
		"full meters that are no list": { readings: [reading], granted: false, meters: "turns" },
	};
	for (const [what, answer] of Object.entries(wrong))
		test(`is none if it is or has ${what}`, () => assert.equal(toAnswer(answer, 1), undefined));
});
