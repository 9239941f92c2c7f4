/** What we aim at, and whether it is met. */
import { table } from "./figures.ts";

export interface Aim {
	readonly aim: string;
	readonly measured: string;
	readonly isMet: boolean;
	/** What stands in the way, should it not be met. */
	readonly otherwise: string;
}

/** What a part of the bench has to say. */
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
