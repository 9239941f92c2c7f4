/** Writes advice as text, for a terminal of 40 columns or more. */
import { homedir } from "node:os";
import { sep } from "node:path";
import { amount as amountOf } from "../core/amount.ts";
import { kindOf } from "../core/meters.ts";
import { clip } from "../core/text.ts";
import { wrap } from "../core/text.ts";
import type { Advice } from "./advise.ts";
import { ENOUGH, type Percentiles } from "./analysis.ts";
import { countedFrom, ENOUGH_CAME, type OddsRow } from "./odds.ts";
import { HISTORY_METERS, type HistoryMeter } from "./run.ts";

/** The meaning of a piece of text, to choose its colour. `beyond`: above the present limit. */
export type ChartRole = "heading" | "bar" | "beyond" | "present" | "suggested" | "muted";

export interface RenderOptions {
	/** Columns: lines are at most 78 long, or at most 38 where 78 do not fit. */
	readonly width: number;
	/** Colours text without changing what it says. Default: plain text. */
	readonly paint?: (role: ChartRole, text: string) => string;
}

type TableRow = readonly [cells: readonly string[], role?: ChartRole | undefined];

/** Pi leaves a column free at either side, so these fit into terminals of 40 and 80 columns. */
const SHORT = 38;
const LONG = 78;

/** Turns whose odds are drawn, as far as enough prompts came there. */
const DRAWN = [1, 2, 5, 10, 15, 25, 40, 60, 100, 200, 500, 1000];

/** The text, without a line feed at its end. */
export function render(advice: Advice, { width, paint = (_role, text) => text }: RenderOptions): string {
	const columns = width < LONG ? SHORT : LONG;
	const sections: [heading: string, lines: string[]][] = [
		["Your prompts", sampleLines(advice).flatMap((line) => wrap(line, columns))],
		["Spent per prompt", tableLines(percentileRows(advice), columns, paint)],
		["Turns per prompt", bars(advice, columns, paint)],
		["Finished by themselves, by turns", curve(advice, columns, paint)],
		["What a limit would have done", whatIfLines(advice, columns, paint)],
		["With and without a person", people(advice).flatMap((line) => wrap(line, columns))],
		["What the breaker did", breaker(advice).flatMap((line) => wrap(line, columns))],
		["Suggestion", suggestion(advice).flatMap((line) => wrap(line, columns))],
	];
	return sections
		.filter(([heading, lines]) => lines.length > 0 && (advice.prompts > 0 || heading === "Your prompts"))
		.map(([heading, lines]) => [paint("heading", heading), ...lines].join("\n"))
		.join("\n\n");
}

function sampleLines({ prompts, priced, span, sample, spent, subagents }: Advice): string[] {
	const { directory, project, days, sessions, copies, running, brokenLines, unreadable } = sample;
	const what = [
		project === null ? "" : ` of ${pathText(project)}`,
		days === null ? "" : ` of the last ${counted(days, "day")}`,
	].join("");
	const dates = span ? `, ${span.map((at) => new Date(at).toISOString().slice(0, 10)).join(" to ")}` : "";
	const skipped = [
		...(brokenLines > 0 ? [counted(brokenLines, "broken line")] : []),
		...(unreadable > 0 ? [`${counted(unreadable, "file")} without a session`] : []),
	];
	const skippedLines = skipped.length > 0 ? [`Skipped: ${skipped.join(", ")}.`] : [];
	const also =
		subagents.reported > 0
			? ` Of that, ${money(subagents.reported)} is in the cost above too, because tools reported it.`
			: "";
	const others = [
		...(running > 0 ? [`Not counted: ${counted(running, "prompt")} that may still be running.`] : []),
		...(subagents.sessions > 0
			? [`Counted apart: ${counted(subagents.sessions, "session")} of subagents, ${money(subagents.cost)}.${also}`]
			: []),
	];
	const where = pathText(directory);
	if (prompts === 0) return [`None${what} in ${where}.`, ...others, ...skippedLines];
	return [
		`${counted(prompts, "prompt")} in ${counted(sessions, "session")}${what}${dates}.`,
		`Read in ${where}.`,
		`Priced: ${priced} of ${prompts}, ${money(spent.cost)} in all.`,
		...(spent.besides > 0 ? [`Besides these, extensions spent ${money(spent.besides)}.`] : []),
		...(copies > 0
			? [`${counted(copies, "copy", "copies")} of prompts in forks and copied files not counted again.`]
			: []),
		...others,
		...skippedLines,
	];
}

function percentileRows({ meters }: Advice): TableRow[] {
	const shown = ["p50", "p90", "p95", "p99", "max"] as const;
	const rows = HISTORY_METERS.flatMap((meter): TableRow[] => {
		const of = meters[meter];
		const show = (value: number | null): string => (value === null ? "–" : shownAmount(meter, value));
		return of ? [[[kindOf(meter).one ? kindOf(meter).many : meter, ...shown.map((name) => show(of[name]))]]] : [];
	});
	return [[["", ...shown], "muted"], ...rows];
}

function bars({ histogram, whatIf }: Advice, columns: number, paint: Paint): string[] {
	const limit = whatIf.find(({ meter, is }) => meter === "turns" && is === "present")?.limit ?? Infinity;
	const shown = histogram.slice(0, histogram.findLastIndex(({ prompts }) => prompts > 0) + 1);
	const most = Math.max(...shown.map(({ prompts }) => prompts));
	const [left, right] = [7, String(most).length];
	return shown.map(({ from, to, prompts }) => {
		const label = to === null ? `${from}+` : from === to ? `${from}` : `${from}–${to}`;
		const length = Math.ceil((prompts / most) * (columns - left - right - 2));
		const bar = paint(from > limit ? "beyond" : "bar", "█".repeat(length));
		return `${label.padStart(left)} ${bar}${length > 0 ? " " : ""}${prompts}`;
	});
}

/** One bar a step: how many of the prompts that came there finished by themselves, and what these still took. */
function curve({ odds }: Advice, columns: number, paint: Paint): string[] {
	const rows = odds.rows.turns.filter(({ at, came }) => DRAWN.includes(at) && came >= ENOUGH_CAME);
	const left = 7;
	const texts = rows.map((row) => rightOfBar(row, columns));
	const room = columns - left - 2 - Math.max(0, ...texts.map((text) => text.length));
	return rows.map(({ at, came, finished }, i) => {
		const bar = paint("bar", "█".repeat(Math.ceil((finished / came) * room)));
		return `${String(at).padStart(left)} ${bar}${finished > 0 ? " " : ""}${texts[i] ?? ""}`;
	});
}

function rightOfBar({ came, finished, moreTurns, moreCost }: OddsRow, columns: number): string {
	const share = `${percent(finished, came)} of ${came}`;
	if (finished === 0) return share;
	if (columns === SHORT) return `${share}, +${moreTurns}`;
	const cost = moreCost === null ? "" : ` (${money(moreCost)})`;
	return `${share}, half within ${counted(moreTurns, "more turn")}${cost}`;
}

function whatIfLines({ whatIf, priced }: Advice, columns: number, paint: Paint): string[] {
	if (whatIf.length === 0) return [];
	const long = columns === LONG;
	const notes = long
		? { present: " (now)", suggested: " (suggested)", other: "" }
		: { present: "*", suggested: "+", other: "" };
	const rows = whatIf.map(({ meter, limit, is, asked, prompts, finished, beyond }): TableRow => {
		const share = asked === 0 ? "–" : percent(finished, asked);
		const spent = priced > 0 ? money(beyond.cost) : `${beyond.turns}${long ? " turns" : ""}`;
		const cells = long
			? [`${asked} of ${prompts} (${percent(asked, prompts)})`, share, spent]
			: [`${asked}/${prompts}`, share.replace(" ", ""), spent];
		return [[named(meter, limit) + notes[is], ...cells], is === "other" ? undefined : is];
	});
	if (long)
		return tableLines([[["limit", "asked in", "finished anyway", "spent beyond"], "muted"], ...rows], columns, paint);
	const lines = tableLines([[["limit", "asked", "done", "beyond"], "muted"], ...rows], columns, paint);
	const unit = priced > 0 ? "" : "; beyond: turns";
	return [...lines, ...wrap(`* now, + suggested; done: finished anyway${unit}`, columns)];
}

function people({ people: { attended, headless, unknown } }: Advice): string[] {
	if (!attended && !headless) return ["Not known: pi does not store it; pi-turn-limit does where a limit acts."];
	const line = (who: string, of: Percentiles | null): string[] =>
		of ? [`${who}: ${counted(of.prompts, "prompt")}, turns p50 ${of.p50}, p95 ${of.p95}, max ${of.max}.`] : [];
	return [...line("With a person", attended), ...line("Without one", headless), ...line("Not known", unknown)];
}

function breaker({ asked: { outcomes, yes, no, finalPass, unanswered } }: Advice): string[] {
	const kinds = Object.entries(outcomes).map(([kind, runs]) => `${runs} ${kind.replaceAll("_", " ")}`);
	if (kinds.length === 0) return ["No limit has acted in these sessions."];
	const answers = `${yes} yes, ${no} no, ${finalPass} for a last answer, ${unanswered} without an answer`;
	return [
		`It asked ${counted(yes + no + finalPass + unanswered, "time")}: ${answers}.`,
		`Runs in which a limit acted: ${kinds.join(", ")}.`,
	];
}

function suggestion({ prompts, priced, suggestion }: Advice): string[] {
	if (!suggestion) return [`None: ${counted(prompts, "prompt")}, and at least ${ENOUGH.suggestion} are needed.`];
	const { turns, cost, time } = suggestion;
	const missing = cost === null ? [`No cost: ${priced} priced, and at least ${ENOUGH.suggestion} are needed.`] : [];
	return [
		"95 of 100 of your prompts stay within these, each rounded up:",
		`  /turn-limit ${turns}`,
		...(cost === null ? [] : [`  /turn-limit cost ${cost.toFixed(2)}`]),
		...(time === null ? [] : [`  /turn-limit time ${shownAmount("time", time)}`]),
		"Or all of them, after one question:",
		"  /turn-limit advise --apply",
		"Then, to keep what you have set for every session:",
		"  /turn-limit save",
		...missing,
	];
}

type Paint = NonNullable<RenderOptions["paint"]>;

/** The first column to the left, the others to the right; the last ones are left out if they do not fit. */
function tableLines(rows: readonly TableRow[], columns: number, paint: Paint): string[] {
	const widths = (rows[0]?.[0] ?? []).map((_, i) => Math.max(...rows.map(([cells]) => cells[i]?.length ?? 0)));
	const gap = " ".repeat(columns === LONG ? 2 : 1);
	const width = widths.reduce((all, one) => all + gap.length + one, -gap.length);
	if (width > columns)
		return tableLines(
			rows.map(([cells, role]) => [cells.slice(0, -1), role] as const),
			columns,
			paint,
		);
	return rows.map(([cells, role]) => {
		const line = cells
			.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
			.join(gap);
		return role ? paint(role, line) : line;
	});
}

/** A path as people write it, without characters that a terminal obeys. */
function pathText(path: string): string {
	const home = homedir();
	const short = path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
	return clip(short, Infinity);
}

/** `12`, `$2.50`, `5m30s`, `500k`. */
function shownAmount(meter: HistoryMeter, value: number): string {
	return kindOf(meter).unit.show(countedFrom(meter, value));
}

/** `12 turns`, `$2.50`. */
function named(meter: HistoryMeter, limit: number): string {
	return amountOf(meter, countedFrom(meter, limit));
}

function money(dollars: number): string {
	return shownAmount("cost", dollars);
}

function counted(value: number, one: string, many = `${one}s`): string {
	return `${value} ${value === 1 ? one : many}`;
}

function percent(part: number, all: number): string {
	const share = (100 * part) / all;
	return share > 0 && share < 1 ? "<1%" : `${Math.round(share)}%`;
}
