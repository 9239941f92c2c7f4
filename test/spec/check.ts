/**
 * Properties by the thousand. A failure says how to see it again:
 *
 *     REPLAY='{"seed":-1,"path":"0:1"}' node --test test/spec/model.test.ts
 *
 * Mutants are met by fewer sequences, always the same ones: `PROPERTIES=quick`. What lands is judged by the same
 * sequences every time (`CI`), all of them; everybody else's runs go on looking, with fewer each time.
 */
import fc from "fast-check";

const QUICK = process.env["PROPERTIES"] === "quick";

/** What a failure has printed. */
interface Replay {
	readonly seed?: number;
	readonly path?: string;
	/** Of commands: which of them were run. */
	readonly commands?: string;
}

export const REPLAY = JSON.parse(process.env["REPLAY"] ?? "{}") as Replay;

/** So many runs where it is decided what lands, so many every day, and so many for a mutant. */
export async function check<T>(
	property: fc.IRawProperty<T>,
	runs: number,
	everyDay = runs,
	quick = Math.ceil(runs / 25),
): Promise<void> {
	const { seed, path } = REPLAY;
	const isCI = Boolean(process.env["CI"]);
	const details = await fc.check(property, {
		numRuns: QUICK ? quick : isCI ? runs : everyDay,
		...(QUICK || isCI ? { seed: 1 } : {}),
		...(seed === undefined ? {} : { seed }),
		...(path === undefined ? {} : { path, endOnFailure: true }),
	});
	if (!details.failed) return;
	const commands = /replayPath="([^"]*)"/.exec(fc.stringify(details.counterexample))?.[1];
	const replay: Replay = {
		...{ seed: details.seed, path: details.counterexamplePath ?? "" },
		...(commands === undefined ? {} : { commands }),
	};
	const report = `${fc.defaultReportMessage(details) ?? ""}\nTo see it again: REPLAY='${JSON.stringify(replay)}'`;
	throw new Error(report, { cause: details.errorInstance });
}
