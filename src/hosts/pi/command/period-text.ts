/** What `/turn-limit` says of a day, a week or a month that is limited. */
import { amount } from "../../../core/amount.ts";
import { isLimited, readMeter } from "../../../core/limit.ts";
import { kindOf, SHARED } from "../../../core/meters.ts";
import { SCOPES } from "../../../core/scopes.ts";
import type { Meters, PeriodEnd } from "../../../loop/sharing/meter-accounts.ts";

/** `This month: 3 turns, $12.40 left, until Tue 1 Dec 00:00.` */
export function periodText(meters: Meters, { scope, end }: PeriodEnd): string {
	const limited = SHARED.filter((id) => kindOf(id).scope === scope && isLimited(meters[id]));
	const left = limited.map((id) => amount(id, readMeter(meters[id]).remaining));
	const { in: name } = SCOPES[scope];
	return `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${left.join(", ")} left, until ${moment(end)}.`;
}

/** By this machine's clock: `Tue 1 Dec 00:00`. */
function moment(time: number): string {
	const form = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const;
	const parts = new Intl.DateTimeFormat("en", { ...form, hourCycle: "h23" }).formatToParts(time);
	const part = (type: string): string => parts.find((each) => each.type === type)?.value ?? "";
	return `${part("weekday")} ${part("day")} ${part("month")} ${part("hour")}:${part("minute")}`;
}
