/** What `/turn-limit` shows: every meter and setting, and the place that it comes from. */
import { isCounted, type Meter, POLICY_IDS, read } from "../../../core/limit.ts";
import { kindOf, type MeterId } from "../../../core/meters.ts";
import type { State } from "../../../core/state.ts";
import type { Resolved } from "../../../settings/resolve.ts";
import { type Key, KEYS, meterOf, SETTINGS, settingOf } from "../../../settings/settings.ts";
import { fraction, nextRunMeter } from "../ui/widget.ts";

/** Aligned lines; where they are wider than `room`, a short form that takes two lines if it has to. */
export function status(state: State, settings: Resolved, room: number, keys = KEYS): string {
	const valueOf = (key: Key, noun: (id: MeterId) => string): string => {
		const id = meterOf(key);
		if (id === undefined) return settingOf(key).show(settings[key].value);
		return describe(id, shown(state, id), noun(id));
	};
	const wide = table(keys.map((key) => [nameOf(key), valueOf(key, nounOf), settings[key].source]));
	if (wide.every((line) => line.length <= room)) return wide.join("\n");
	const narrow = keys.flatMap((key) =>
		fold(`${labelOf(key)}: ${valueOf(key, () => "")}`, `(${settings[key].source})`, room),
	);
	return narrow.join("\n");
}

/** Rows as lines, the cells below each other aligned. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
	const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, cell.length)), []);
	const line = (row: readonly string[]): string => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ");
	return rows.map((row) => line(row).trimEnd());
}

/** One line, or where that would be wider than `room` the second text below the first. */
export function fold(first: string, second: string, room: number): readonly string[] {
	const line = `${first} ${second}`;
	if (line.length <= room) return [line];
	const lines: string[] = [];
	for (const word of second.split(" ")) {
		const longer = `${lines.at(-1)} ${word}`;
		if (lines.length > 0 && longer.length <= room) lines.splice(-1, 1, longer);
		else lines.push(`  ${word}`);
	}
	return [first, ...lines];
}

/** Between runs what the last one has spent, unless something was granted for the next. */
function shown(state: State, id: MeterId): Meter {
	const { phase, meters } = state;
	return phase.name === "idle" && phase.promised[id] > 0 ? nextRunMeter(state, id) : meters[id];
}

/** A budget in one short line: `7 of 25 turns`, with `synthesize` where that is the policy of a limit. */
function describe(id: MeterId, meter: Meter, noun: string): string {
	if (!isCounted(id, meter)) return "unlimited";
	const { policy, limit } = read(meter);
	const isTold = limit !== "unlimited" && policy !== POLICY_IDS[0];
	return `${fraction(id, meter, " of ", 0)}${limit === 0 ? "" : noun}${isTold ? `, ${policy}` : ""}`;
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
