/** The meters as programs read them. */
import { readMeter, type MeterReading, softLimit } from "./limit.ts";
import { kindOf, type Max, type PerMeter, perMeter } from "./meters.ts";
import { givenAbout, type State } from "./state.ts";

/** A meter as programs read it; amounts as they write them. */
export interface Gauge extends MeterReading {
	/** The amount after which the wrap-up of this round is due, if one is. */
	readonly softLimit: number | undefined;
	/** The wrap-up of this round was about this meter. */
	readonly advised: boolean;
}

export type Snapshot = PerMeter<Gauge>;

export function snapshot(state: State): Snapshot {
	const { meters, grace } = state;
	return perMeter((id) => {
		const { write } = kindOf(id).unit;
		const outside = (max: Max): Max => (max === "unlimited" ? max : write(max));
		const { used, limit, remaining, policy } = readMeter(meters[id]);
		const soft = softLimit(id, meters[id], grace);
		const advised = givenAbout(state) === id;
		return {
			used: write(used),
			limit: outside(limit),
			remaining: outside(remaining),
			policy,
			softLimit: soft === undefined ? undefined : write(soft),
			advised,
		};
	});
}
