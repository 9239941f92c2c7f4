/** Describes a debt. A module of its own, because an agent alone loads no ledger. */
import { amount } from "../../core/amount.ts";
import { RUN_METER_IDS } from "../../core/meters.ts";
import { clip } from "../../core/text.ts";
import type { DebtLeft } from "./unsettled.ts";

/** For whoever reads how the run ended. */
export function debtText({ amounts, why, lossReason }: DebtLeft): string {
	const spent = RUN_METER_IDS.flatMap((id) => (amounts[id] ? [amount(id, amounts[id])] : [])).join(", ");
	const reason = clip(why, 300);
	if (lossReason !== undefined)
		return `Not counted in the shared budget: ${spent}. It is lost when this process ends. ${reason} ${clip(lossReason, 300)}`;
	return `Not yet counted in the shared budget: ${spent}. It is saved, and counted when the budget is next used. ${reason}`;
}
