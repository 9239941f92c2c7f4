/** What a fault says, and what it must not say. */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { type Fault, LedgerError } from "../../src/ledger/faults.ts";
import type { Database } from "./database.ts";

/** An error of that kind whose message matches, and that shows neither user nor password however it is printed. */
export function said({ password, address }: Database, kind: Fault, ...words: RegExp[]): (error: unknown) => true {
	return (error) => {
		assert.ok(error instanceof LedgerError, inspect(error));
		assert.equal(error.kind, kind, error.message);
		for (const pattern of words) assert.match(error.message, pattern);
		const shown = inspect(error, { depth: 10, showHidden: true, getters: true }) + JSON.stringify(error);
		const secrets = [
			password,
			...(["agent", "both", "stranger"] as const).map((login) => new URL(address(login)).username),
		];
		for (const secret of secrets) assert.ok(!shown.includes(secret), `${secret} in ${shown}`);
		return true;
	};
}
