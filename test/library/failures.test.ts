import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { LimitExceeded, type Outcome, turnLimit } from "../../src/index.ts";
import { noop, session } from "../harness/session.ts";

const ENTRIES: Record<string, (pi: ExtensionAPI) => unknown> = {
	"a follow-up": (pi) => pi.sendUserMessage("more", { deliverAs: "followUp" }),
	"a steering message": (pi) => pi.sendUserMessage("more", { deliverAs: "steer" }),
	"another extension's message": (pi) =>
		pi.sendMessage({ customType: "x", content: "more", display: true }, { triggerTurn: true, deliverAs: "followUp" }),
};

for (const [what, enter] of Object.entries(ENTRIES)) {
	for (const maxRetries of [0, 1]) {
		test(`${what} after a turn that failed ${maxRetries + 1} times starts a turn that counts`, async (t) => {
			const outcomes: Outcome[] = [];
			let failures = 0;
			const persistent = (pi: ExtensionAPI): void => {
				pi.on("agent_end", () => {
					if (++failures % (maxRetries + 1) === 0 && failures < 30) enter(pi);
				});
			};
			const { prompt, turns } = await session(t, {
				extensions: [turnLimit({ turns: 3, onOutcome: (outcome) => outcomes.push(outcome) }), persistent],
				settings: { retry: { enabled: maxRetries > 0, maxRetries, baseDelayMs: 1 } },
				reply: () => ({ failure: { status: 529, message: "overloaded" } }),
			});
			await prompt("go");
			assert.equal(turns(), 3 * (maxRetries + 1));
			assert.deepEqual(
				outcomes.map(({ kind, turns }) => `${kind} ${turns}`),
				["exhausted 3"],
			);
		});
	}
}

for (const [how, onOutcome] of [
	["throws", () => assert.fail("no disk")],
	["rejects", (): unknown => Promise.reject(new Error("no disk"))],
] as const) {
	test(`an onOutcome that ${how} kills no program, and the caller learns that a limit ended the run`, async (t) => {
		const limit = turnLimit({ turns: 2, grace: 0, onOutcome });
		const pi = await session(t, { extensions: [limit], reply: () => noop });
		for (const prompt of ["go", "again"]) await assert.rejects(limit.prompt(pi.session, prompt), LimitExceeded);
		assert.deepEqual([pi.turns(), pi.errors], [4, []]);
	});
}
