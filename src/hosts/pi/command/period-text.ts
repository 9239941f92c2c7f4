/** What `/turn-limit` says of a day, a week or a month that is limited, here or in a fleet's budget. */
import { amount } from "../../../core/amount.ts";
import { isLimited, readMeter } from "../../../core/limit.ts";
import { kindOf, SHARED } from "../../../core/meters.ts";
import { SCOPES } from "../../../core/scopes.ts";
import type { Meters, PeriodEnd } from "../../../loop/sharing/meter-accounts.ts";

/** `This month: 3 turns, $12.40 left, until Tue 1 Dec 00:00.`, `Budget ticket-42 2026-11: …` */
export function periodText(meters: Meters, { scope, end, fleet }: PeriodEnd): string {
	const left = SHARED.flatMap((id) => {
		const balance = fleet?.balances[id];
		if (balance) return amount(id, Math.max(0, balance.cap - balance.used));
		const isOurs = fleet === undefined && kindOf(id).scope === scope && isLimited(meters[id]);
		return isOurs ? amount(id, readMeter(meters[id]).remaining) : [];
	});
	const name = fleet ? `budget ${fleet.name}` : SCOPES[scope].in;
	return `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${left.join(", ")} left, until ${moment(end)}.`;
}

/** By this machine's clock: `Tue 1 Dec 00:00`. */
function moment(time: number): string {
	const form = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const;
	const parts = new Intl.DateTimeFormat("en", { ...form, hourCycle: "h23" }).formatToParts(time);
	const part = (type: string): string => parts.find((each) => each.type === type)?.value ?? "";
	return `${part("weekday")} ${part("day")} ${part("month")} ${part("hour")}:${part("minute")}`;
}
