/** The line above the editor: what is spent of every limit. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { bound, isLimited, isReached, type Meter, refill, toNumber } from "../../../core/limit.ts";
import { kindOf, METER_IDS, type MeterId, perMeter } from "../../../core/meters.ts";
import type { State } from "../../../core/state.ts";

type Theme = ExtensionUIContext["theme"];

/** One of the things that the widget shows, and how urgent it is. */
export interface Part {
	readonly text: string;
	readonly level: "normal" | "warning" | "error";
}

/** A meter warns from this share of its limit on. */
const WARNS_AT = 0.8;

const SEPARATOR = " · ";

/** `Turns: 3/25`, `Tools: 12/200`; in the final pass also `final answer`. */
export function widget(state: State): readonly Part[] {
	const { phase, meters } = state;
	const limited = METER_IDS.filter((id) => id === "turns" || isShown(id, meters[id]));
	const parts = limited.map((id) => {
		const text = `${kindOf(id).label}: ${fraction(id, meters[id], "/", spentInRun(state, id))}`;
		return { text, level: levelOf(meters[id]) };
	});
	return phase.name === "finishing" ? [...parts, { text: "final answer", level: "normal" }] : parts;
}

/** Limited, and enough of it spent to be shown. */
function isShown(id: MeterId, meter: Meter): boolean {
	return isLimited(meter) && meter.used >= (kindOf(id).widgetFrom ?? 0);
}

/** The widget between runs: the start values of the next prompt. */
export function idleWidget(state: State): readonly Part[] {
	return widget(nextRun(state));
}

/** Between runs, the state with the meters as the next run begins with them. */
export function nextRun(state: State): State {
	return { ...state, meters: perMeter((id) => nextRunMeter(state, id)) };
}

/** Everything since the run began, over all its rounds. */
export function spentInRun({ phase }: State, id: MeterId): number {
	return phase.name === "idle" ? 0 : phase.run.spent[kindOf(id).of];
}

/** The parts as one line without colour. */
export function plain(parts: readonly Part[]): string {
	return parts.map(({ text }) => text).join(SEPARATOR);
}

/** The parts as lines of at most `width` columns. Our texts have no wide letters. */
export function draw(parts: readonly Part[], theme: Pick<Theme, "fg">, width: number): string[] {
	const room = Math.max(1, width - 2);
	const lines: { length: number; text: string }[] = [];
	for (const { text, level } of parts) {
		const shown = text.length > room ? `${text.slice(0, room - 1)}…` : text;
		const coloured = level === "normal" ? shown : theme.fg(level, shown);
		const last = lines.at(-1);
		const length = (last?.length ?? 0) + SEPARATOR.length + shown.length;
		if (last && length <= room) lines.splice(-1, 1, { length, text: last.text + SEPARATOR + coloured });
		else lines.push({ length: shown.length, text: `${width > 1 ? " " : ""}${coloured}` });
	}
	return lines.map(({ text }) => text);
}

/** `error` once the limit is reached. Always `normal` at a limit of 0, because every request is asked about. */
export function levelOf(meter: Meter): Part["level"] {
	const max = toNumber(bound(meter));
	if (max === 0 || meter.used < max * WARNS_AT) return "normal";
	return isReached(meter) ? "error" : "warning";
}

/** `spent` stands for the fraction where each request is asked about, because the round restarts each time. */
export function fraction(id: MeterId, meter: Meter, between: string, spent: number): string {
	const { show } = kindOf(id).unit;
	const max = bound(meter);
	if (max === 0) return `${show(spent)}, asks every time`;
	return `${show(meter.used)}${between}${max === "unlimited" ? "∞" : show(max)}`;
}

/** The meter; between runs as the next run begins with it, grants included. */
export function nextRunMeter({ phase, meters }: State, id: MeterId): Meter {
	return phase.name === "idle" ? refill(id, meters[id], phase.promised[id]) : meters[id];
}
