/** The table of policies: what follows where a limit is reached and nobody continues. A new policy is a row here. */
interface PolicyRow {
	/** The run ends with a final pass, so nothing under way is cut off. */
	readonly answers: boolean;
}

export const POLICIES = {
	abort: { answers: false },
	synthesize: { answers: true },
} as const satisfies Readonly<Record<string, PolicyRow>>;

export type Policy = keyof typeof POLICIES;

export const DEFAULT_POLICY: Policy = "abort";

export const POLICY_IDS = Object.keys(POLICIES) as readonly Policy[];

export function isPolicy(value: unknown): value is Policy {
	return (POLICY_IDS as readonly unknown[]).includes(value);
}
