import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { inspect } from "node:util";
import { parseAddress } from "../../src/ledger/postgres/address.ts";
import { LedgerError } from "../../src/ledger/faults.ts";

const AT = "postgres://ada:s3cret@db.example/budgets";

suite("an address", () => {
	test("has hosts, a user, a password, a database and TLS where the server offers it", () => {
		const { password, ...rest } = parseAddress(AT);
		assert.equal(password(), "s3cret");
		assert.deepEqual(rest, {
			hosts: [{ name: "db.example", port: 5432 }],
			...{ user: "ada", database: "budgets", tls: "prefer", rootCert: undefined, options: undefined },
			shown: "db.example/budgets",
		});
	});

	test("can have ports, several hosts, one of IPv6, and what needs encoding", () => {
		const at = "postgresql://a%40b:p%2Fw:@x@db1:6432,[::1]:5433/my%20db?sslmode=verify-full&sslrootcert=/r.crt";
		const { hosts, user, password, database, tls, rootCert, shown } = parseAddress(at);
		assert.deepEqual(hosts, [
			{ name: "db1", port: 6432 },
			{ name: "::1", port: 5433 },
		]);
		assert.deepEqual([user, password(), database], ["a@b", "p/w:@x", "my db"]);
		assert.deepEqual([tls, rootCert, shown], ["verify-full", "/r.crt", "db1,::1/my db"]);
	});

	test("may have no password, and user and database alone are decoded", () => {
		assert.deepEqual(
			[parseAddress("postgres://ada@db/b").password(), parseAddress(`${AT}?options=-c%20x%3D1`).options],
			["", "-c x=1"],
		);
	});

	test("that is wrong has what is allowed in words", () => {
		assert.throws(() => parseAddress(`${AT}?ssl_mode=require`), {
			message:
				"The budget's address: expected no parameters but sslmode, sslrootcert, options, got an address of another form.",
		});
		assert.throws(() => parseAddress(`${AT}?sslmode=on`), {
			message:
				"The budget's address: expected sslmode=disable or prefer or require or verify-ca or verify-full, got an address of another form.",
		});
	});

	test("does not show its password however it is printed", () => {
		const address = parseAddress(AT);
		const shown = inspect(address, { depth: 9, showHidden: true }) + JSON.stringify(address);
		assert.ok(!shown.includes("s3cret"), shown);
	});

	const wrong = {
		"of something else": "redis://ada:s3cret@db.example/0",
		"without a user": "postgres://db.example/s3cret",
		"without a database": "postgres://ada:s3cret@db.example",
		"without a host": "postgres://ada:s3cret@/budgets",
		"whose password has a slash": "postgres://ada:s3/cret@db.example/budgets",
		"whose password has a question mark": "postgres://ada:s3cret?@db.example/budgets",
		"whose password has a lone per cent": "postgres://ada:s3cret%@db.example/budgets",
		"whose port is a word": "postgres://ada:s3cret@db.example:s3cret/budgets",
		"with an unknown sslmode": `${AT}?sslmode=s3cret`,
		"whose port is too large": "postgres://ada:s3cret@db.example:65536/budgets",
		"with a parameter that nothing reads": `${AT}?ssl_mode=verify-full`,
		"with sslmode twice, the weak one first": `${AT}?sslmode=disable&sslmode=verify-full`,
		"with options twice": `${AT}?options=-c%20a%3D1&options=-c%20a%3D2`,
		"whose database would move a terminal's cursor": "postgres://ada:s3cret@db.example/b%1B%5B2J",
		"whose database would turn the text around": "postgres://ada:s3cret@db.example/b%E2%80%AE",
		"with a password behind it": "postgres://ada@db.example/budgets?password=s3cret",
		"that is empty": "",
	};
	for (const [what, text] of Object.entries(wrong)) {
		test(`${what} is refused, and nothing of it is shown`, () => {
			assert.throws(
				() => parseAddress(text),
				(error) => {
					assert.ok(error instanceof LedgerError && error.kind === "unsuited");
					assert.match(error.message, /^The budget's address: expected .*, got an address of another form\.$/);
					assert.ok(
						!/s3|ada/.test(inspect(error, { depth: 9, showHidden: true }).replaceAll(import.meta.filename, "")),
					);
					return true;
				},
			);
		});
	}
});
