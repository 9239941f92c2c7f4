/** A terminal's screen as SVG: text stays text, so that it can be searched, read aloud and tested. */
import type { Terminal } from "../test/harness/index.ts";

type Buffer = Terminal["buffer"];
type Cell = NonNullable<ReturnType<NonNullable<ReturnType<Buffer["getLine"]>>["getCell"]>>;

const WIDTH = 8.4;
const HEIGHT = 18;
const PAD = 12;
const INK = "#d4d4d4";
const PAPER = "#1e1e24";

/** The 16 colours that have names; the rest of the 256 are a cube and a ramp. */
const NAMED = [
	...["#1e1e24", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d4d4d4"],
	...["#7f848e", "#ef8189", "#a9d38a", "#f0cf8f", "#7dc0f5", "#d494e6", "#6fc7d1", "#ffffff"],
];

function palette(index: number): string {
	const named = NAMED[index];
	if (named !== undefined) return named;
	const level = (n: number): number => (n === 0 ? 0 : 55 + n * 40);
	const cube = index - 16;
	const grey = 8 + (index - 232) * 10;
	const [r, g, b] =
		index >= 232
			? [grey, grey, grey]
			: [level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)];
	return `rgb(${r},${g},${b})`;
}

function colour(color: number, isRgb: boolean, isDefault: boolean, fallback: string): string {
	if (isDefault) return fallback;
	return isRgb ? `#${color.toString(16).padStart(6, "0")}` : palette(color);
}

/** pi's dim text, a little lighter: on a page nobody can turn up the screen. */
const READABLE: Record<string, string> = { "#666666": "#9a9aa2" };

function style(cell: Cell): { ink: string; paper: string; bold: boolean } {
	const drawn = colour(cell.getFgColor(), cell.isFgRGB(), cell.isFgDefault(), INK);
	const ink = READABLE[drawn] ?? drawn;
	const paper = colour(cell.getBgColor(), cell.isBgRGB(), cell.isBgDefault(), PAPER);
	const bold = cell.isBold() !== 0;
	return cell.isInverse() ? { ink: paper, paper: ink, bold } : { ink, paper, bold };
}

const escape = (text: string): string =>
	text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c] ?? c);

/** The last `rows` lines that show something, under a title; the name of a temporary folder is not for others. */
export function svg(buffer: Buffer, title: string, rows: number, cols: number, folder = ""): string {
	const lines = Array.from({ length: buffer.length }, (_, i) => buffer.getLine(i));
	const last = lines.findLastIndex((line) => line !== undefined && line.translateToString(true).trim() !== "");
	const shown = lines.slice(Math.max(0, last + 1 - rows), last + 1);
	const body = shown.flatMap((line, row) => {
		const spans: { x: number; text: string; ink: string; paper: string; bold: boolean }[] = [];
		for (let x = 0; x < cols; x++) {
			const cell = line?.getCell(x);
			if (cell === undefined || cell.getWidth() === 0) continue;
			const look = style(cell);
			const span = spans.at(-1);
			const text = cell.getChars() || " ";
			const same = span && span.ink === look.ink && span.paper === look.paper && span.bold === look.bold;
			if (same) span.text += text;
			else spans.push({ x, text, ...look });
		}
		for (const span of spans) span.text = span.text.replace(folder || "\0", "~/project".padEnd(folder.length));
		const y = PAD + HEIGHT * (row + 2);
		return spans.flatMap(({ x, text, ink, paper, bold }) => {
			const left = PAD + x * WIDTH;
			const back =
				paper === PAPER
					? []
					: [
							`<rect x="${left.toFixed(1)}" y="${y - 13}" width="${(text.length * WIDTH).toFixed(1)}" height="${HEIGHT}" fill="${paper}"/>`,
						];
			if (text.trim() === "") return back;
			const weight = bold ? ' font-weight="bold"' : "";
			return [
				...back,
				`<text x="${left.toFixed(1)}" y="${y}" fill="${ink}"${weight} textLength="${(text.length * WIDTH).toFixed(1)}">${escape(text)}</text>`,
			];
		});
	});
	const width = Math.ceil(PAD * 2 + cols * WIDTH);
	const height = PAD * 2 + HEIGHT * (shown.length + 1) + 6;
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">
<title>${escape(title)}</title>
<rect width="100%" height="100%" rx="8" fill="${PAPER}" stroke="#7f848e" stroke-opacity="0.6"/>
<g fill="#7f848e"><circle cx="18" cy="16" r="5"/><circle cx="34" cy="16" r="5"/><circle cx="50" cy="16" r="5"/></g>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve">
${body.join("\n")}
</g>
</svg>
`;
}
