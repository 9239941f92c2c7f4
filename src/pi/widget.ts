/** The line above the editor, and the status: what is spent of every limit. */
import { bound, type Meter, POLICIES, read } from "../core/limit.ts";
import { kindOf, type Max, METER_IDS, type MeterId, perMeter } from "../core/meters.ts";
import type { State } from "../core/state.ts";
import type { Resolved } from "../settings/resolve.ts";
import { type Key, KEYS, meterOf, SETTINGS, settingOf } from "../settings/settings.ts";

/** `Turns: 3/25 · Tools: 12/200`; in the final pass `Turns: 25/25 · final answer`. */
export function widget(state: State): string {
	const { phase, meters } = state;
	const limited = METER_IDS.filter((id) => id === "turns" || isShown(id, meters[id]));
	const parts = limited.map((id) => `${kindOf(id).label}: ${fraction(id, meters[id], "/")}`);
	if (phase.name === "finishing") parts.push("final answer");
	return parts.join(" · ");
}

/** Limited, and spent enough of to be worth a look. */
function isShown(id: MeterId, { limit, used }: Meter): boolean {
	return limit.max !== "unlimited" && used >= (kindOf(id).widgetFrom ?? 0);
}

/** The widget between runs: the start values of the next prompt. */
export function idleWidget(state: State): string {
	const { meters } = state;
	const meter = (id: MeterId): Meter => ({ ...granted(state, id), used: 0 });
	return widget({ ...state, meters: { ...meters, ...perMeter(meter) } });
}

/** A budget in one short line: `7 of 25 turns`, with `synthesize` where that is the policy of a limit. */
function describe(id: MeterId, meter: Meter): string {
	const { policy, limit } = read(meter);
	const { one, many } = kindOf(id);
	const noun = one === undefined ? "" : ` ${many}`;
	const isTold = limit !== "unlimited" && policy !== POLICIES[0];
	return `${fraction(id, meter, " of ")}${noun}${isTold ? `, ${policy}` : ""}`;
}

function fraction(id: MeterId, meter: Meter, between: string): string {
	const { show } = kindOf(id).unit;
	const of = (max: Max): string => (max === "unlimited" ? "∞" : show(max));
	return `${show(meter.used)}${between}${of(bound(meter))}`;
}

/** Between runs, with what was granted for the next round. */
function granted({ phase, meters }: State, id: MeterId): Meter {
	if (phase.name !== "idle") return meters[id];
	return { ...meters[id], extra: phase.promised[id] };
}

/** Meters and settings with the place that it comes from: a few aligned lines. */
export function status(state: State, settings: Resolved, keys = KEYS): string {
	return table(
		keys.map((key) => {
			const id = meterOf(key);
			const text = id === undefined ? settingOf(key).show(settings[key].value) : describe(id, granted(state, id));
			return [nameOf(key), text, settings[key].source];
		}),
	);
}

function nameOf(key: Key): string {
	const id = meterOf(key);
	if (id === undefined) return SETTINGS[key].title.toLowerCase();
	const { label, many, one, scope } = kindOf(id);
	return one === undefined || scope !== "round" ? label.toLowerCase() : many;
}

function table(rows: readonly (readonly string[])[]): string {
	const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, cell.length)), []);
	const line = (row: readonly string[]): string => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ");
	return rows.map((row) => line(row).trimEnd()).join("\n");
}
