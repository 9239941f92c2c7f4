/** Where a shared limit is set and the ledger cannot be used: closed, told, nothing lost. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { suite, test } from "node:test";
import type { Inside } from "../harness/inside.ts";
import { noop } from "../harness/session.ts";
import { text } from "../harness/index.ts";
import { defer, type Scope } from "../harness/wait.ts";
import { directoryOf, fileOf, kinds, sharing } from "./shared.ts";

interface Fault {
	/** What the message says. */
	readonly said: RegExp;
	readonly harm: (pi: Inside, t: Scope) => void;
}

const FAULTS: Readonly<Record<string, Fault>> = {
	"is damaged": {
		said: /cannot be used: .*malformed\. It was moved to .*; the next time it is needed, a new one begins/,
		harm: (pi) => {
			truncateSync(fileOf(pi), 6000);
		},
	},
	"is read-only": { said: /is read-only/, harm: (pi) => chmodSync(fileOf(pi), 0o400) },
	"is a link": {
		said: /is a link/,
		harm: (pi) => {
			renameSync(fileOf(pi), join(pi.folder, "elsewhere"));
			symlinkSync(join(pi.folder, "elsewhere"), fileOf(pi));
		},
	},
	"is a file where its directory should be": {
		said: /is not a directory/,
		harm: (pi) => {
			renameSync(directoryOf(pi), `${directoryOf(pi)}.old`);
			writeFileSync(directoryOf(pi), "");
		},
	},
	"is locked by another process": {
		said: /locked/,
		harm: (pi, t) => {
			const other = new DatabaseSync(fileOf(pi));
			other.exec("BEGIN IMMEDIATE");
			defer(t, () => other.close());
		},
	},
	"was made by a newer version": {
		said: /newer pi-turn-limit/,
		harm: (pi) => {
			const other = new DatabaseSync(fileOf(pi));
			other.exec("PRAGMA user_version = 99");
			other.close();
		},
	},
};

for (const [what, { said, harm }] of Object.entries(FAULTS)) {
	suite(`a ledger that ${what}`, () => {
		test("stops a run where nobody can be asked, before its first request, and says why", async (t) => {
			const pi = await sharing(t, { limits: { day: { maxTurns: 9 } }, model: [text("one"), text("two")] });
			await pi.run("go");
			harm(pi, t);
			await pi.run("once more");
			assert.equal(pi.model.requests.length, 1);
			assert.match(pi.last?.errorMessage ?? "", /^pi-turn-limit: failed and stopped the run: The ledger/);
			assert.match(pi.last?.errorMessage ?? "", said);
		});

		test("asks a person, who can go on without it for this run", async (t) => {
			const model = [noop, text("one"), noop, text("two")];
			const pi = await sharing(t, { limits: { day: { maxTurns: 9 } }, model, person: (_asked, n) => n === 1 });
			await pi.run("go");
			harm(pi, t);
			await pi.run("once more");
			const { title, message = "" } = pi.asked[0] ?? {};
			assert.equal(title, "Shared budget out of reach");
			assert.match(message, said);
			assert.match(message, /Continue without the day's turn limit, for this run\?/);
			assert.match(message, /Yes: without it. No: the run ends here\.$/);
			assert.deepEqual([pi.asked.length, pi.model.requests.length], [1, 4]);
		});
	});
}

test("a person who does not go on without the ledger ends the run, and nothing is lost", async (t) => {
	const pi = await sharing(t, { limits: { day: { maxTurns: 9 } }, person: () => false });
	mkdirSync(directoryOf(pi), { mode: 0o700, recursive: true });
	writeFileSync(fileOf(pi), "no database");
	chmodSync(fileOf(pi), 0o400);
	await pi.run("go");
	assert.equal(pi.model.requests.length, 0);
	chmodSync(fileOf(pi), 0o600);
	await pi.run("go");
	assert.match(pi.asked[1]?.message ?? "", /is not a database/);
	assert.ok(readdirSync(pi.folder).some((name) => name.startsWith("turn-limit-ledger.damaged-")));
});

test("what a run spends without the ledger is counted once it can be used again", async (t) => {
	const model = (_request: unknown, n: number) => {
		if (n === 3) chmodSync(fileOf(pi), 0o600);
		return n === 4 ? text("done") : noop;
	};
	const pi: Inside = await sharing(t, { limits: { day: { maxTurns: 90 } }, model, person: () => true });
	await pi.run("/turn-limit day turns 50");
	chmodSync(fileOf(pi), 0o400);
	await pi.run("go");
	assert.equal(pi.asked.length, 1);
	await pi.run("/turn-limit day");
	assert.match(pi.notifications.at(-1)?.message ?? "", /^day turns +4 of 50/);
	assert.deepEqual(kinds(pi), ["completed"]);
});

test("a damage that was found between two runs closes the gate of the next", async (t) => {
	const pi = await sharing(t, { limits: { day: { maxTurns: 2 } } });
	await pi.run("go");
	assert.equal(pi.model.requests.length, 2);
	truncateSync(fileOf(pi), 6000);
	await pi.run("/turn-limit");
	await pi.run("once more");
	assert.equal(pi.model.requests.length, 2);
	assert.match(pi.last?.errorMessage ?? "", /is malformed/);
});
