/** Says of a debt what has become of it. Apart from the rest, because an agent alone loads no ledger. */
import { amount } from "../../core/amount.ts";
import { RUN_METER_IDS } from "../../core/meters.ts";
import { clip } from "../../core/text.ts";
import type { DebtLeft } from "./unsettled.ts";

/** For whoever reads how the run ended. */
export function debtText({ amounts, why, whyNotKept }: DebtLeft): string {
	const spent = RUN_METER_IDS.flatMap((id) => (amounts[id] ? [amount(id, amounts[id])] : [])).join(", ");
	const reason = clip(why, 300);
	if (whyNotKept !== undefined)
		return `The shared budget was not told of ${spent}, and will not be once this process has ended. ${reason} ${clip(whyNotKept, 300)}`;
	return `The shared budget was not told of ${spent} yet; that is kept, and counted when it is next used. ${reason}`;
}
