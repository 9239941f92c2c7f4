/** The extension as the package ships it, when a running pi loads it again. */
import assert from "node:assert/strict";
import fs from "node:fs";
import { registerHooks, syncBuiltinESMExports } from "node:module";
import { describe, test, type TestContext } from "node:test";
import packaged from "../../src/hosts/pi/extension-bundle.ts";
import { inside } from "../harness/inside.ts";

/** The extension's file has another time from now on, and holds this when it is imported again. */
function update(t: TestContext, time: number | undefined, source: string): void {
	const { statSync } = fs;
	const stat = t.mock.method(fs, "statSync", ((path: string | URL, options: object) => {
		if (!String(path).endsWith("/extension-bundle.ts")) return statSync(path, options);
		return time === undefined ? statSync("gone", options) : { mtimeMs: time };
	}) as typeof statSync);
	syncBuiltinESMExports();
	const hooks = registerHooks({
		load: (url, context, next) =>
			url.endsWith(`/extension-bundle.ts?${String(time)}`)
				? { format: "module", source, shortCircuit: true }
				: next(url, context),
	});
	t.after(() => {
		hooks.deregister();
		stat.mock.restore();
		syncBuiltinESMExports();
	});
}

describe("the package's extension, loaded again,", () => {
	/** The commands of a session that loads it. */
	async function commands(t: TestContext): Promise<string[]> {
		const { session } = await inside(t, { extensions: [packaged as never] });
		return session.extensionRunner.getRegisteredCommands().map(({ name }) => name);
	}

	test("is the one that was loaded before, as long as its file is", async (t) => {
		assert.deepEqual(await commands(t), ["turn-limit"]);
	});

	const updated = "export default (pi) => pi.registerCommand('updated', {})";
	for (const [what, time, source, expected] of [
		["the new one after an update", 1, updated, ["updated"]],
		["the old one where the update cannot be loaded", 2, "throw new Error('half')", ["turn-limit"]],
		["the old one where the file is gone", undefined, "throw new Error('gone')", ["turn-limit"]],
	] as const) {
		test(`is ${what}`, async (t) => {
			update(t, time, source);
			assert.deepEqual(await commands(t), expected);
		});
	}
});
