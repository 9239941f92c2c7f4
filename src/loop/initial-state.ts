import { perMeter } from "../core/meters.ts";
import { create, type State } from "../core/state.ts";
import type { Policies } from "../settings/options.ts";
import type { Resolved } from "../settings/resolve.ts";
import { KEY_OF } from "../settings/settings.ts";

/** A breaker with these settings that has counted nothing yet. `policies`: of limits that have their own. */
export function initialState(
	settings: Resolved,
	policies: Policies | undefined,
	attended: boolean,
	isMember = false,
): State {
	const { policy, grace, repeatsExcept } = settings;
	const limits = perMeter((id) => ({
		max: settings[KEY_OF[id]].value,
		policy: policies?.[id] ?? policy.value,
	}));
	return create({ attended, isMember, limits, grace: grace.value, exempt: repeatsExcept.value });
}
