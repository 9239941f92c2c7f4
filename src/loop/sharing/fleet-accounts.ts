/** The accounts of a budget in a fleet's ledger. */
import { PERIODS } from "../../core/scopes.ts";
import { dateIn } from "../../ledger/calendar.ts";
import type { FleetAccount } from "../../ledger/port.ts";
import type { Budget } from "../../settings/budget.ts";

/** From the outermost: the budget as a whole, and its month, week and day that `now` is in, as far as they have caps. */
export function fleetAccounts({ account, caps, periods, zone }: Budget, now: number): readonly FleetAccount[] {
	const total: FleetAccount = { scope: "fleet", name: account, caps };
	const limited = PERIODS.filter((period) => Object.keys(periods[period]).length > 0);
	const dated = limited.map((period): FleetAccount => {
		return { scope: "fleet", name: `${account} ${dateIn(period, zone, now)}`, period, zone, caps: periods[period] };
	});
	return dated.length > 0 && Object.keys(caps).length === 0 ? dated : [total, ...dated];
}
