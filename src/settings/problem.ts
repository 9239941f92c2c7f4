/** Something that is wrong with a setting. */
export interface Problem {
	/** A sentence: where it stands, what was expected, what came. */
	readonly what: string;
	/** A sentence: what is used instead. */
	readonly instead?: string;
	/** It was meant as a limit, or may hold one, and no stronger place sets that: where nobody can be asked, nothing runs. */
	readonly isLimit?: boolean;
}

/** For a person. */
export function sentenceOf({ what, instead = "" }: Problem): string {
	return `${what} ${instead}`.trim();
}
