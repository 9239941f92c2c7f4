/** The aims of the bench, and whether they are met. */
import { table } from "./figures.ts";

export interface Aim {
	readonly aim: string;
	readonly measured: string;
	readonly isMet: boolean;
	/** The obstacle, should it not be met. */
	readonly otherwise: string;
}

/** The result of a part of the bench. */
export interface Part {
	readonly text: string;
	readonly aims: readonly Aim[];
}

export function aimsTable(aims: readonly Aim[]): string {
	return table(
		["aim", "measured", "met"],
		aims.map(({ aim, measured, isMet, otherwise }) => [aim, measured, isMet ? "yes" : `no: ${otherwise}`]),
	);
}
