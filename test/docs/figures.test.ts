/** The figures of the documents, read from the source: whoever changes one there is told where it is written. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { SCOPES } from "../../src/core/scopes.ts";
import { ENOUGH } from "../../src/history/analysis.ts";
import { ENOUGH_CAME, MAX_TABLE_BYTES } from "../../src/history/odds.ts";
import { WEEK } from "../../src/ledger/checks.ts";
import { MOST_DEBTS } from "../../src/ledger/debt-files.ts";
import { DEFAULT_GRACE, defaults, settingOf } from "../../src/settings/settings.ts";

const root = resolve(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8").replaceAll(/\s+/g, " ");

/** Of what a module keeps to itself: the number that stands behind a name and `=`, `:` or `??`; a product is multiplied. */
function figure(file: string, name: string): number {
	const [, found] = new RegExp(`\\b${name}"? ?(?:=|:) "?([\\d_. *]+)`).exec(read(file)) ?? [];
	assert.ok(found, `${file} has no ${name}`);
	return found.split("*").reduce((product, factor) => product * Number(factor.replaceAll("_", "")), 1);
}

const seconds = (milliseconds: number): number => milliseconds / 1000;
const spelled = (figure: number): string => ["zero", "one", "two", "three", "four"][figure] ?? String(figure);
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** As the documents say it in words: milliseconds, and the one that is the third. */
const WORDS: Readonly<Record<number, string>> = {
	3: "third",
	500: "half a second",
	60_000: "a minute",
	3_600_000: "hour",
	86_400_000: "day",
	604_800_000: "a week",
};
function spoken(file: string, name: string): string {
	const found = figure(file, name);
	return WORDS[found] ?? String(found);
}

const dialog = "src/hosts/pi/ui/dialog/dialog.ts";
const quiet = seconds(figure(dialog, "QUIET"));
const typed = spoken(dialog, "TYPED");
const grace = DEFAULT_GRACE;
const warns = figure("src/hosts/pi/ui/widget.ts", "WARNS_AT") * 100;
const missed = seconds(figure("src/hosts/pi/lifecycle/handover.ts", "MISSED_AFTER_MS"));
const dropped = figure("src/core/run.ts", "REFUSALS_TO_DROP");
const pointedOut = spoken("src/core/gate.ts", "POINTED_OUT");
const suggestion = ENOUGH.suggestion;
const p99 = ENOUGH.p99;
const came = ENOUGH_CAME;
const odds = MAX_TABLE_BYTES / 1000;
const oddsAge = spoken("src/history/odds-file.ts", "MAX_AGE");
const oddsTime = spoken("src/history/odds-start.ts", "PATIENCE");
const oddsTries = spoken("src/hosts/pi/ui/odds.ts", "PATIENCE");
const everyTurn = found("src/history/odds.ts", /length: (\d+) \}, \(_, i\) => i\)/)[0];
const columns = found("src/history/render.ts", /terminals of \d+ and (\d+) columns/)[0];
const memory = figure("src/history/odds-start.ts", "MEMORY");
const line = figure("src/history/files.ts", "MAX_LINE") / 2 ** 20;
const debts = MOST_DEBTS.toLocaleString("en");
const local = seconds(figure("src/ledger/sqlite/ledger.ts", "deadline"));
const fleet = seconds(figure("src/ledger/postgres/ledger.ts", "deadline"));
const lease = spoken("src/loop/sharing/reservation.ts", "LEASE");
const renewal = seconds(figure("src/loop/sharing/reservation.ts", "RENEWAL"));
const remembered = WORDS[WEEK];
const nodeOfLedger = /needs SQLite: (Node [\d.]+) or newer/.exec(read("src/ledger/sqlite/runtime.ts"))?.[1];
const turns = defaults(true).maxTurns;
const widestFirst = Object.entries(SCOPES)
	.filter(([, { grantedBy }]) => grantedBy !== "operator")
	.map(([scope]) => scope)
	.toReversed()
	.join(", ");
const recent = spoken("src/loop/tree/inheritance.ts", "RECENT");
const [stopped, partial, failed] = ["STOPPED", "PARTIAL", "FAILED"].map((name) =>
	figure("src/hosts/pi/outcome/exit.ts", name),
);
const version = (name: string): string =>
	new RegExp(`"${name}": "([\\d.]+)"`).exec(read("package.json"))?.[1] ?? `no ${name}`;
const pi = version("@earendil-works/pi-coding-agent");
const oldest = /needs pi ([\d.]+) or newer/.exec(read("src/hosts/pi/events/guarding-copy.ts"))?.[1];
const node = /"node": ">=([\d.]+)"/.exec(read("package.json"))?.[1];
const nodeOfPi = /"node": ">=([\d.]+)\.0"/.exec(read("node_modules/@earendil-works/pi-coding-agent/package.json"))?.[1];
const hosts = [...read("scripts/test-hosts.ts").matchAll(/"([\d.]+)": \{ pi: "\1", tests: (?:\[\.\.\.)?ofHost/g)].map(
	([, it]) => it,
);
const newerNode = /node: (\d+), tests/.exec(read("scripts/test-hosts.ts"))?.[1];

const text = figure("src/history/files.ts", "MAX_PARSED") / 2 ** 10;

/** What stands in the source where the pattern has its groups. */
function found(file: string, pattern: RegExp): readonly number[] {
	const [, ...groups] = pattern.exec(read(file)) ?? [];
	assert.ok(groups.length > 0, `${file} has no ${pattern.source}`);
	return groups.map((group) => Number(group.replaceAll("_", "")));
}

const step = /p95 <= ([\d.]+) \? ([\d.]+) : p95 <= ([\d.]+) \? ([\d.]+) : ([\d.]+)/.source;
const [turnStep] = found("src/history/analysis.ts", /up\(turns, \(\) => (\d+)\)/);
const [cheap, cheapStep = 0, dear, dearStep = 0, dearestStep] = found(
	"src/history/analysis.ts",
	new RegExp(`up\\(costs, \\(p95\\) => \\(${step}`),
);
const [short = 0, shortStep, long = 0, longStep = 0, longestStep = 0] = found(
	"src/history/analysis.ts",
	new RegExp(`up\\(times, \\(p95\\) => \\(${step}`),
);
const MONEY: Readonly<Record<number, string>> = { 0.1: "ten cents", 0.5: "half a dollar" };
const MINUTES: Readonly<Record<number, string>> = { 60: "one minute", 600: "ten" };
const [mostTurns = 0, mostMills = 0, mostTokens = 0, mostTime = 0] = found(
	"src/history/odds.ts",
	/at <= ([\d_]+)\).*cost: \[.*?, ([\d_]+)\]\.map.*tokens: \[.*?, ([\d_]+)\].*time: \[.*?, ([\d_]+)\]/,
);
const scarce = 1 - (found("src/core/limit.ts", /Math\.ceil\(max \* ([\d.]+)\)/)[0] ?? NaN);
const shared = 1 / (found("src/core/limit.ts", /Math\.ceil\(toNumber\(limit\.max\) \/ (\d+)\)/)[0] ?? NaN);
const PART: Readonly<Record<number, string>> = { 0.1: "a tenth" };
const zone = /zone\(\{ value: zone = "(\w+)"/.exec(read("src/settings/budget-reader.ts"))?.[1];

/** A row of a table of defaults. */
function fallback(name: string, key: Parameters<typeof settingOf>[0]): string {
	const shown = [true, false].map((attended) => settingOf(key).show(defaults(attended)[key]));
	return `| ${name} | ${shown.join(" | ")} |`;
}

const FIGURES: Readonly<Record<string, readonly string[]>> = {
	"README.md": [
		`${partial}) echo "report.md may be partial"`,
		`${stopped}) echo "stopped: `,
		`${capital(spelled(grace))} turns before the limit the model is told to wrap up`,
		`After ${suggestion} prompts \`/turn-limit advise\` works it out`,
		`Requires pi ${oldest} or newer, and so Node ${nodeOfPi} or newer`,
		`Node ${node} and npm are enough`,
		`${turns} full turns`,
	],
	"CONTRIBUTING.md": [
		`needs only git, Node ${node} or newer, npm and tar`,
		`on pi ${pi} |`,
		`what a host can change: pi ${hosts.join(", ")}, Node ${newerNode};`,
		`pi needs Node ${nodeOfPi};`,
	],
	"SECURITY.md": [`Figures only, at most ${odds} KB, rebuilt once a ${oddsAge}`],
	"docs/question.md": [
		`it counts ${typed} after the last key`,
		`Until no key has come for ${quiet} seconds`,
		`Escape included, until no key has come for ${quiet} seconds`,
	],
	"docs/upgrading.md": [`counts ${typed} later`, `exit codes ${stopped} and ${partial}`],
	"docs/edges.md": [
		`warning colour at ${warns}% of its limit`,
		`From turn ${(25 * warns) / 100}`,
		`By default it is sent ${grace} turns before the limit`,
		`the model is told after turn ${25 - grace} that ${spelled(grace)} turns are left`,
		`and the exit code is ${stopped}`,
	],
	"docs/scripts.md": [
		`| 0 | the run ended by itself | | ${partial} | it ended after the wrap-up, so its answer may be partial | ` +
			`| ${stopped} | a limit stopped the run | | ${failed}, 143, … |`,
		`**${partial}** comes even if`,
		`${stopped} beats ${partial}, and ${partial} beats 0`,
		`The default is ${grace}.`,
		`${partial}) echo "report.md may be partial"`,
		`${partial}) echo "::warning::`,
	],
	"docs/settings.md": [
		`When ${PART[Number(scarce.toFixed(9))]} or less is left`,
		`A yes grants ${PART[shared]}`,
		`At the ${pointedOut} identical call (or cycle) the model is told once`,
	],
	"docs/limits-of-limits.md": [
		`${capital(spelled(missed))} seconds later a notification`,
		`once ${spelled(dropped)} runs that nobody prompted have been refused`,
	],
	"docs/advice.md": [
		`at most once an ${oddsTries}`,
		`up to ${everyTurn} turns`,
		`narrower than ${columns} columns`,
		`below ${suggestion} prompts (for cost, ${suggestion} priced ones) and shows no p99 below ${p99}`,
		`With fewer than ${came} prompts that came this far there is no line`,
		`counts, turns and dollars, at most ${odds} KB`,
		`The thread ends with pi, after ${oddsTime}, or above ${memory} MiB`,
		`a background thread rebuilds the table if it is older than a ${oddsAge}`,
		`turns to a multiple of ${turnStep}; time to ${shortStep} seconds, to ${WORDS[longStep * 1000]} above ` +
			`${MINUTES[short]}, and to ${longestStep / 60} minutes above ${MINUTES[long]}; cost to ${MONEY[cheapStep]}, ` +
			`${MONEY[dearStep]} above $${cheap}, and ${dearestStep} dollars above $${dear}.`,
		`It ends at ${mostTurns.toLocaleString("en")} turns or calls, $${mostMills / 1000}, ` +
			`${mostTokens / 1_000_000} million tokens and ${Math.round(mostTime / 3600)} hours`,
	],
	"docs/advice-reasons.md": [
		fallback("turns", "maxTurns"),
		fallback("tool calls", "maxToolCalls"),
		fallback("cost", "maxCost"),
		fallback("tokens", "maxTokens"),
		fallback("time", "maxTime"),
		fallback("repeats", "maxRepeats"),
		fallback("grace", "grace"),
	],
	"docs/advice-counting.md": [
		`lines of more than ${line} MiB (${text} KiB without their long texts and images)`,
		`null below ${suggestion} prompts`,
	],
	"docs/ledger.md": [
		`(locked for ${local} seconds,`,
		`Where nobody can be asked the run stops, says why, and exits with ${failed}.`,
		`Beyond ${debts} such files nothing passes`,
		`the reservation is used up after ${lease}`,
	],
	"docs/fleet.md": [
		`What a killed agent held counts as used after ${lease}`,
		`exits with ${stopped}`,
		`where they begin at midnight; ${zone} by default`,
	],
	"docs/fleet-operation.md": [
		`Every operation ends within ${fleet} s.`,
		...["frozen", "stopped, or cut for longer", "standby not promoted"].map((fault) => `| ${fault} | ${fleet} s |`),
		`restarted within ${fleet} s |`,
		`A hold is renewed every ${renewal} s`,
		`The server remembers ids for ${remembered}`,
		`kept for ${remembered}`,
	],
	"docs/sharing.md": [
		`A yes grants ${PART[shared]} of the limit, at least 1`,
		`the tree was used within the last ${recent}`,
		`that ${recent}`,
		`widest first: ${widestFirst}`,
		`the exit code is ${stopped}`,
	],
	"docs/loops.md": [`${nodeOfLedger}`, `its tree was used within the last ${recent}`, `counts as used after ${lease}`],
	"docs/ai-sdk.md": [`Requires \`ai\` ${version("ai").split(".")[0]} and Node ${nodeOfPi?.split(".")[0]}`],
	"docs/pi-agent.md": [`Tested with ${version("@earendil-works/pi-agent-core")}.`],
	"docs/comparison.md": [`with \`ai\` ${version("ai")} and a scripted model`],
	"docs/comparison-agents.md": [`exit code ${stopped} or ${partial}, a line, an outcome`],
};

for (const [page, figures] of Object.entries(FIGURES)) {
	test(`the figures of ${page} are those of the source`, () => {
		const text = read(page);
		for (const words of figures) assert.ok(text.includes(words), words);
	});
}
