/**
 * Screens of a terminal as SVG, still or moving, light and dark. Text stays text, so that it can be searched, read aloud and
 * tested: each row of a screen is one `<text>`, drawn where a frame uses it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, type Terminal } from "../test/harness/index.ts";

type Buffer = Terminal["buffer"];
type Line = NonNullable<ReturnType<Buffer["getLine"]>>;
type Cell = NonNullable<ReturnType<Line["getCell"]>>;

interface Span {
	readonly x: number;
	text: string;
	readonly ink: string;
	readonly paper: string;
	readonly bold: boolean;
}

type Row = readonly Span[];

/** What a terminal showed, and for how long it is seen in a moving picture. */
export interface Frame {
	readonly rows: readonly Row[];
	readonly seconds: number;
}

export interface Shot {
	readonly cols: number;
	/** Names of this machine, and what the picture shows in their place. */
	readonly instead?: Readonly<Record<string, string>>;
}

const WIDTH = 8.4;
const HEIGHT = 18;
const BASELINE = 13;
const PAD = 12;
const TITLE_BAR = 30;
const GREY = "#7f848e";
const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

interface Theme {
	readonly vars: Readonly<Record<string, string>>;
	readonly colors: Readonly<Record<string, string>>;
	readonly export: { readonly cardBg: string };
}

function theme(name: string): Theme {
	const folder = "node_modules/@earendil-works/pi-coding-agent/dist/modes/interactive/theme";
	return JSON.parse(readFileSync(join(root, folder, `${name}.json`), "utf8")) as Theme;
}

const [dark, light] = [theme("dark"), theme("light")];
const PAPER = dark.export.cardBg;
const INK = dark.vars["text"] as string;

/** The colours of pi's dark theme, each with that of the light theme for the same role. */
const LIGHT = new Map([
	...Object.keys(dark.colors)
		.map((role) => [colourOf(dark, role), colourOf(light, role)] as const)
		.reverse(),
	[PAPER, light.export.cardBg] as const,
]);

function colourOf({ vars, colors }: Theme, role: string): string {
	const value = colors[role] ?? "";
	return (vars[value] ?? value).toLowerCase();
}

/** Dim text of pi's themes, with more contrast: on a page nobody can turn up the screen. */
const READABLE: Readonly<Record<string, string>> = {
	...{ "#666666": "#9a9aa2", "#505050": "#7d7d85", "#808080": "#a3a3a3" },
	...{ "#b0b0b0": "#767676" },
};

function readable(colour: string): string {
	return READABLE[colour] ?? colour;
}

/** The last lines that show something: so many, or from the last one on that has these words. */
export function lastRows(buffer: Buffer, from: number | string, shot: Shot): Frame {
	const lines = Array.from({ length: buffer.length }, (_, i) => buffer.getLine(i));
	const end = lines.findLastIndex((line) => line !== undefined && line.translateToString(true).trim() !== "") + 1;
	const start =
		typeof from === "number"
			? end - from
			: lines.findLastIndex((line) => line?.translateToString(true).trimStart().startsWith(from));
	return frame(lines.slice(Math.max(0, start), end), shot, 0);
}

/** The whole screen. */
export function screen(buffer: Buffer, rows: number, shot: Shot, seconds: number): Frame {
	const lines = Array.from({ length: rows }, (_, row) => buffer.getLine(buffer.baseY + row));
	return frame(lines, shot, seconds);
}

function frame(lines: readonly (Line | undefined)[], shot: Shot, seconds: number): Frame {
	return { rows: lines.map((line) => (line ? spansOf(line, shot) : [])), seconds };
}

function spansOf(line: Line, { cols, instead = {} }: Shot): Row {
	const spans: Span[] = [];
	for (let x = 0; x < cols; x++) {
		const cell = line.getCell(x);
		if (cell === undefined || cell.getWidth() === 0) continue;
		const look = lookOf(cell);
		const last = spans.at(-1);
		const text = cell.getChars() || " ";
		if (last?.ink === look.ink && last.paper === look.paper && last.bold === look.bold) last.text += text;
		else spans.push({ x, text, ...look });
	}
	for (const span of spans)
		for (const [name, shown] of Object.entries(instead)) span.text = span.text.replace(name, shown.padEnd(name.length));
	return spans;
}

function lookOf(cell: Cell): Pick<Span, "ink" | "paper" | "bold"> {
	const ink = colour(cell.getFgColor(), cell.isFgRGB(), cell.isFgDefault() ? INK : undefined);
	const paper = colour(cell.getBgColor(), cell.isBgRGB(), cell.isBgDefault() ? PAPER : undefined);
	const bold = cell.isBold() !== 0;
	return cell.isInverse() ? { ink: paper, paper: ink, bold } : { ink, paper, bold };
}

function colour(value: number, isRgb: boolean, fallback: string | undefined): string {
	if (fallback !== undefined) return fallback;
	const hex = `#${value.toString(16).padStart(6, "0")}`;
	if (isRgb && LIGHT.has(hex)) return hex;
	throw new RangeError(`No colour of pi's dark theme: ${isRgb ? hex : `palette ${value}`}`);
}

/** A picture of one frame, or a film that begins again at its end. Where nothing may move, it shows its first frame. */
export function svg(title: string, cols: number, frames: readonly Frame[]): string {
	const colours = new Map<string, string>();
	const rows = new Map<string, string>();
	const nameIn = (names: Map<string, string>, prefix: string, key: string): string => {
		if (!names.has(key)) names.set(key, `${prefix}${names.size}`);
		return names.get(key) as string;
	};
	const classOf = (colour: string): string => nameIn(colours, "c", colour);
	const most = Math.max(...frames.map((frame) => frame.rows.length));
	const uses = frames.flatMap((frame, i) =>
		frame.rows.flatMap((row, y) => {
			const drawn = draw(row, classOf);
			return drawn === "" ? [] : [`<use href="#${nameIn(rows, "r", drawn)}" y="${(i * most + y) * HEIGHT}"/>`];
		}),
	);
	const inner = [Math.ceil(cols * WIDTH), most * HEIGHT] as const;
	const [width, height] = [inner[0] + 2 * PAD, inner[1] + TITLE_BAR + PAD];
	const styles = [
		...[
			`text{font-family:${FONT};font-size:14px;white-space:pre}`,
			".b{font-weight:bold}",
			`.paper{fill:${PAPER};stroke:${GREY}}`,
		],
		...[...colours].map(([dark, name]) => `.${name}{fill:${readable(dark)}}`),
		"@media (prefers-color-scheme:light){",
		...[[PAPER, "paper"] as const, ...colours].map(
			([dark, name]) => `.${name}{fill:${readable(LIGHT.get(dark) as string)}}`,
		),
		"}",
		...(frames.length > 1 ? motion(frames, most * HEIGHT) : []),
	];
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">
<title>${escape(title)}</title>
<style>
${styles.join("\n")}
</style>
<rect class="paper" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
<g fill="${GREY}"><circle cx="18" cy="16" r="5"/><circle cx="34" cy="16" r="5"/><circle cx="50" cy="16" r="5"/></g>
<defs>
${[...rows].map(([drawn, name]) => `<g id="${name}">${drawn}</g>`).join("\n")}
</defs>
<svg x="${PAD}" y="${TITLE_BAR}" width="${inner[0]}" height="${inner[1]}">
<g class="film">
${uses.join("\n")}
</g>
</svg>
</svg>
`;
}

/** The frames stand below each other, and pass behind the window one by one. */
function motion(frames: readonly Frame[], height: number): string[] {
	const total = frames.reduce((sum, { seconds }) => sum + seconds, 0);
	let start = 0;
	const stops = frames.map(({ seconds }, i) => {
		const percent = ((100 * start) / total).toFixed(2);
		start += seconds;
		return `${percent}%{transform:translateY(${-i * height}px)}`;
	});
	return [
		`.film{animation:film ${total.toFixed(1)}s step-end infinite}`,
		"@media (prefers-reduced-motion:reduce){.film{animation:none}}",
		`@keyframes film{${stops.join("")}}`,
	];
}

/** A row of the screen at the height 0. Blanks between the spans are for readers of the text, not for the eye. */
function draw(row: Row, classOf: (colour: string) => string): string {
	const at = (columns: number): string => String(Number((columns * WIDTH).toFixed(1)));
	const backs = row
		.filter(({ paper }) => paper !== PAPER)
		.map(
			({ x, text, paper }) =>
				`<rect class="${classOf(paper)}" x="${at(x)}" width="${at(text.length)}" height="${HEIGHT}"/>`,
		);
	const words = row.map(({ x, text, ink, bold }) => {
		const word = text.trim();
		if (word === "") return text;
		const [before = "", after = ""] = text.split(word);
		const look = `${classOf(ink)}${bold ? " b" : ""}`;
		const place = `x="${at(x + before.length)}" textLength="${at(word.length)}"`;
		return `${before}<tspan class="${look}" ${place}>${escape(word)}</tspan>${after}`;
	});
	const line = words.join("").trimEnd();
	return [...backs, ...(line === "" ? [] : [`<text xml:space="preserve" y="${BASELINE}">${line}</text>`])].join("");
}

function escape(text: string): string {
	return text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c] ?? c);
}
