/** The smallest ledger: it counts what one breaker spends of what agents share, and what they were granted. */
import { isLimited } from "../../src/core/limit.ts";
import { kindOf, type MeterId, type PerMeter, perMeter, type RunMeterId, SHARED } from "../../src/core/meters.ts";
import type { Balances, Event } from "../../src/core/protocol.ts";
import type { State } from "../../src/core/state.ts";

export class Ledger {
	/** Why it cannot be used. */
	fault: string | undefined;
	/** What it was asked to do, in order. */
	readonly log: string[] = [];
	readonly #used: Record<MeterId, number> = { ...perMeter(() => 0) };
	readonly #granted: Record<MeterId, number> = { ...perMeter(() => 0) };

	reserve(state: State): Event {
		this.log.push("reserve");
		if (this.fault !== undefined) return { type: "unreachable", message: this.fault };
		const balances = this.balances(state);
		const full = SHARED.find((id) => balances[id] && balances[id].used >= balances[id].cap);
		return full === undefined ? { type: "held", balances } : { type: "filled", meter: full, balances };
	}

	release(): void {
		this.log.push("release");
	}

	raise(id: MeterId, by: number, state: State): void {
		this.log.push(`raise ${id} by ${by}`);
		const { used = 0, cap = 0 } = this.balances(state)[id] ?? {};
		this.#granted[id] += Math.max(0, used - cap) + by;
	}

	/** A person's prompt begins a tree, with what was promised to it. */
	beginTree(promised: PerMeter<number>): void {
		for (const id of SHARED.filter((id) => kindOf(id).scope === "tree")) {
			[this.#used[id], this.#granted[id]] = [0, promised[id]];
		}
	}

	/** This breaker, or another agent, has spent something. */
	spend(of: RunMeterId, amount: number): void {
		for (const id of SHARED.filter((id) => kindOf(id).of === of)) this.#used[id] += amount;
	}

	balances({ meters }: State): Balances {
		const cap = (id: MeterId): number => Number(meters[id].limit.max) + this.#granted[id];
		const limited = SHARED.filter((id) => isLimited(meters[id]));
		return Object.fromEntries(limited.map((id) => [id, { used: this.#used[id], cap: cap(id) }]));
	}
}
