/** Limits that come from elsewhere than an agent's own settings: the root of its tree, and its fleet. */
import { clip } from "../../core/text.ts";
import { kindOf, METER_IDS } from "../../core/meters.ts";
import { type Budget, lowestCaps } from "../../settings/budget.ts";
import type { Resolved } from "../../settings/resolve.ts";
import { KEY_OF, settingOf } from "../../settings/settings.ts";
import type { Tree } from "./tree-variable.ts";

export type RootLimits = Pick<Tree, "limits" | "overruled">;

/** The limits of a fleet's budget, which no other place sets. */
export function limitsOf(budget: Budget | undefined): Partial<Resolved> {
	if (budget === undefined) return {};
	const caps: Readonly<Record<string, number | undefined>> = lowestCaps(budget);
	const ids = METER_IDS.filter((id) => kindOf(id).scope === "fleet");
	const limits = ids.map((id) => [
		KEY_OF[id],
		{ value: caps[kindOf(id).of] ?? "unlimited", source: `budget ${clip(budget.account, 60)}` },
	]);
	return Object.fromEntries(limits) as Partial<Resolved>;
}

/** The settings, with the limits of the root where they are lower, and where a command has set them. `command`: the source of those that our own command has set. */
export function lowered(settings: Resolved, { limits, overruled }: RootLimits, command?: string): Resolved {
	const lower = Object.values(KEY_OF).flatMap((key) => {
		const { read, tightens } = settingOf(key);
		const value = read(limits[key]);
		const own = settings[key];
		const isOverruled = own.source !== command && own.value === read(overruled[key]);
		const isRootStronger = value !== undefined && (isOverruled || tightens?.(value, own.value));
		return isRootStronger ? [[key, { value, source: "the root" }]] : [];
	});
	return { ...settings, ...(Object.fromEntries(lower) as Partial<Resolved>) };
}
