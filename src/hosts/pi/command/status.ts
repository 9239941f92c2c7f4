/** What `/turn-limit` shows: every meter and setting, and the place that it comes from. */
import { bound, isCounted, isLimited, type Meter, readMeter, toNumber } from "../../../core/limit.ts";
import { DEFAULT_POLICY } from "../../../core/policies.ts";
import { amount } from "../../../core/amount.ts";
import { kindOf, type MeterId } from "../../../core/meters.ts";
import type { State } from "../../../core/state.ts";
import { clip, wrap } from "../../../core/text.ts";
import type { Resolved } from "../../../settings/resolve.ts";
import { defaults, type Key, KEY_OF, KEYS, meterOf, SETTINGS, settingOf } from "../../../settings/settings.ts";
import { fraction, levelOf, nextRunMeter, type Part, spentInRun } from "../ui/widget.ts";

/** The meaning of a piece of the picture, to choose its colour; `level` is that of a bar. */
export type StatusRole = Part["level"] | "text" | "muted";

export type PaintStatus = (role: StatusRole, text: string) => string;

/** Columns of a bar. */
const BAR = { least: 10, most: 24 } as const;

/** The fewest letters at which a source is still recognisable. */
const SOURCE_LEAST = 12;

const GAP = "  ";

/** Aligned lines; where they are wider than `room`, a short form that takes two lines if it has to. */
export function status(state: State, settings: Resolved, room: number, keys = KEYS): string {
	const valueOf = (key: Key, noun: (id: MeterId) => string): string => {
		const id = meterOf(key);
		if (id === undefined) return settingOf(key).show(settings[key].value);
		return describe(state, id, noun(id));
	};
	const wide = table(keys.map((key) => [nameOf(key), valueOf(key, nounOf), settings[key].source]));
	if (wide.every((line) => line.length <= room)) return wide.join("\n");
	const narrow = keys.flatMap((key) =>
		fold(`${labelOf(key)}: ${valueOf(key, () => "")}`, `(${settings[key].source})`, room),
	);
	return narrow.join("\n");
}

/**
 * The same for somebody at a terminal: a bar for each limit, what is unlimited in few words, and the settings that
 * differ from their default. Lines of at most `room` letters as far as that goes.
 */
export function picture(
	state: State,
	settings: Resolved,
	room: number,
	keys: readonly Key[],
	paint: PaintStatus,
): readonly string[] {
	const ids = keys.flatMap((key) => meterOf(key) ?? []);
	const limited = ids.filter((id) => isLimited(state.meters[id]));
	const unlimited = ids.filter((id) => !isLimited(state.meters[id]));
	return [
		...bars(state, settings, room, limited, paint),
		...unlimitedLines(state, settings, room, unlimited).map((line) => paint("muted", line)),
		...changed(state, settings, keys).flatMap((key) =>
			fold(`${labelOf(key)}: ${settingOf(key).show(settings[key].value)}`, `(${settings[key].source})`, room).map(
				(line) => paint("text", line),
			),
		),
	];
}

function bars(
	state: State,
	settings: Resolved,
	room: number,
	ids: readonly MeterId[],
	paint: PaintStatus,
): readonly string[] {
	const rows = ids.map((id) => {
		const meter = shown(state, id);
		const { source } = settings[KEY_OF[id]];
		const amount = fraction(id, meter, " of ", spentInRun(state, id));
		const paintBar = (text: string): string =>
			text.replace(/█+|[^█]+/g, (piece) => paint(piece.startsWith("█") ? levelOf(meter) : "muted", piece));
		return { name: nameOf(KEY_OF[id]), meter, amount, raised: raisedText(id, meter), source, paintBar };
	});
	const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map(({ length }) => length));
	const names = widest(rows.map(({ name }) => name));
	const amounts = widest(rows.map(({ amount, raised }) => amount + raised));
	const sources = widest(rows.map(({ source }) => source));
	const left = room - names - amounts - GAP.length * 2;
	if (left < BAR.least)
		return rows.flatMap(({ name, meter, amount, raised, source, paintBar }) => [
			...fold(`${name}: ${amount}`, raised.trim(), room).map((line) => paint("text", line)),
			...fold(`  ${bar(meter, BAR.least)}`, source, room).map(paintBar),
		]);
	const beside = left - GAP.length - sources;
	const width = Math.min(BAR.most, Math.max(BAR.least, beside));
	return rows.flatMap(({ name, meter, amount, raised, source, paintBar }) => {
		const leftAfter = (spent: string): number => room - names - width - spent.length - GAP.length * 3;
		const aligned = (amount + raised).padEnd(amounts);
		const spent = source.length <= leftAfter(aligned) ? aligned : amount + raised;
		const left = leftAfter(spent);
		const line = [paint("text", name.padEnd(names)), paintBar(bar(meter, width)), paint("text", spent)].join(GAP);
		const short = source.length <= left ? source : clip(source.replace(/^.* in /, ""), Math.max(left, SOURCE_LEAST));
		if (short.length <= left) return [`${line}${GAP}${paint("muted", short)}`];
		return [line, ...wrap(`  ${source}`, room).map((text) => paint("muted", text))];
	});
}

/** Full only where the limit is reached, empty only where nothing is spent. */
function bar(meter: Meter, width: number): string {
	const max = toNumber(bound(meter));
	const share = max === 0 ? 0 : Math.min(1, meter.used / max);
	const full = share < 1 ? Math.min(width - 1, Math.ceil(share * width)) : width;
	return "█".repeat(full) + "░".repeat(width - full);
}

/** ` (20.00 + 5.00)`: the limit that was set, and what was granted or, in a smaller round, taken from it. */
function raisedText(id: MeterId, { limit, extra }: Meter): string {
	const { scope, unit } = kindOf(id);
	// A wider limit that is lower than ours was set elsewhere: nothing was taken from it.
	if (limit.max === "unlimited" || extra === 0 || (extra < 0 && scope !== "round")) return "";
	const show = (counted: number): string => unit.show(counted).replace("$", "");
	return ` (${show(limit.max)} ${extra > 0 ? "+" : "-"} ${show(Math.abs(extra))})`;
}

/** A blank at which a line does not break. */
const UNBROKEN = "\u00A0";

/** `Unlimited: tool calls 12, cost $0.40; session turns 40, cost, tokens`: amounts if there are any, sources unless default. */
function unlimitedLines(state: State, settings: Resolved, room: number, ids: readonly MeterId[]): readonly string[] {
	if (ids.length === 0) return [];
	const items = ids.map((id, i) => {
		const { of, unit, scope } = kindOf(id);
		const before = ids[i - 1];
		const isFirst = before === undefined || kindOf(before).scope !== scope;
		const { used } = shown(state, id);
		const { source } = settings[KEY_OF[id]];
		const name = nameOf(KEY_OF[isFirst ? id : of]);
		const amount = used > 0 ? ` ${unit.show(used)}` : "";
		const place = source === "default" ? "" : ` (${source})`;
		const after = ids[i + 1];
		const end = after === undefined ? "" : kindOf(after).scope === scope ? "," : ";";
		const item = `${name}${amount}${place}${end}`;
		return item.length + GAP.length <= room ? item.replaceAll(" ", UNBROKEN) : item;
	});
	return wrap(`  Unlimited: ${items.join(" ")}`, room).map((line, i) =>
		(i === 0 ? line.trimStart() : line).replaceAll(UNBROKEN, " "),
	);
}

/** The settings, limits apart, that are not as they would be if no place said anything. */
function changed({ attended }: State, settings: Resolved, keys: readonly Key[]): readonly Key[] {
	const usual = defaults(attended);
	return keys.filter((key) => {
		const { show } = settingOf(key);
		return meterOf(key) === undefined && show(settings[key].value) !== show(usual[key]);
	});
}

/** Rows as lines, the cells below each other aligned. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
	const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, cell.length)), []);
	const line = (row: readonly string[]): string => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ");
	return rows.map((row) => line(row).trimEnd());
}

/** One line, or where that would be wider than `room` the second text below the first. */
export function fold(first: string, second: string, room: number): readonly string[] {
	const line = `${first} ${second}`.trimEnd();
	return line.length <= room ? [line] : [first, ...wrap(`  ${second}`, room)];
}

/** Between runs what the last one has spent, unless something was granted for the next. */
function shown(state: State, id: MeterId): Meter {
	const { phase, meters } = state;
	return phase.name === "idle" && phase.promised[id] > 0 ? nextRunMeter(state, id) : meters[id];
}

/** A budget in one short line: `7 of 25 turns`, with `synthesize` where that is the policy of a limit. */
function describe(state: State, id: MeterId, noun: string): string {
	const meter = shown(state, id);
	if (!isCounted(id, meter)) return "unlimited";
	const { policy, limit, used } = readMeter(meter);
	if (limit === "unlimited") return `${noun === "" ? kindOf(id).unit.show(used) : amount(id, used)}, unlimited`;
	const counted = `${fraction(id, meter, " of ", spentInRun(state, id))}${limit === 0 ? "" : noun}`;
	return `${counted}${raisedText(id, meter)}${policy === DEFAULT_POLICY ? "" : `, ${policy}`}`;
}

function nounOf(id: MeterId): string {
	return isNamedByNoun(id) ? ` ${kindOf(id).many}` : "";
}

function nameOf(key: Key): string {
	const id = meterOf(key);
	if (id === undefined) return labelOf(key);
	return isNamedByNoun(id) ? kindOf(id).many : labelOf(key);
}

/** An amount whose unit shows itself has a label, and so has what takes a whole phrase to name. */
function isNamedByNoun(id: MeterId): boolean {
	const { one, scope, widgetFrom } = kindOf(id);
	return one !== undefined && scope === "round" && widgetFrom === undefined;
}

function labelOf(key: Key): string {
	const id = meterOf(key);
	return (id === undefined ? SETTINGS[key].title : kindOf(id).label).toLowerCase();
}
