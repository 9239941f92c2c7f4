/** Figures that can be compared, and tables of them. */

/** The value below which a share of the others lies. */
export function quantile(values: readonly number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	const at = (sorted.length - 1) * share;
	const low = sorted[Math.floor(at)] ?? NaN;
	const high = sorted[Math.ceil(at)] ?? NaN;
	return low + (high - low) * (at % 1);
}

export function median(values: readonly number[]): number {
	return quantile(values, 0.5);
}

/** `12.3 (11.9 … 13.0)`: the median and between what the middle half of the values lies. */
export function spread(values: readonly number[], digits = 1): string {
	const [low, mid, high] = [0.25, 0.5, 0.75].map((share) => quantile(values, share).toFixed(digits));
	return `${mid} (${low} … ${high})`;
}

/** A table in Markdown, its columns aligned so that it can be read as it is. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
	const cells = [head, ...rows].map((row) => row.map(String));
	const widths = head.map((_, i) => Math.max(...cells.map((row) => (row[i] ?? "").length)));
	const line = (row: readonly string[]): string =>
		`| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
	const [first = [], ...others] = cells;
	return [line(first), line(widths.map((width) => "-".repeat(width))), ...others.map(line)].join("\n");
}

/** Measures every subject in turn, `times` rounds over, each round in another order, so that none has the better machine. */
export async function interleave<T>(
	times: number,
	subjects: Readonly<Record<string, () => Promise<T>>>,
): Promise<Record<string, T[]>> {
	const names = Object.keys(subjects);
	const measured: Record<string, T[]> = Object.fromEntries(names.map((name) => [name, []]));
	for (let round = 0; round < times; round++) {
		const shift = round % names.length;
		for (const name of [...names.slice(shift), ...names.slice(0, shift)]) {
			const value = await subjects[name]?.();
			if (value !== undefined) measured[name]?.push(value);
		}
	}
	return measured;
}
