import type { Outcome } from "../../../core/outcome.ts";
import type { Driver } from "../../../loop/driver.ts";
import type { Values } from "../../../settings/places.ts";
import type { Context } from "../host/api.ts";
import type { LimitsInForce } from "../settings/apply.ts";
import type { Preferences } from "../settings/session-settings.ts";
import type { Display } from "../ui/notices.ts";
import type { PersonalOdds } from "../ui/odds.ts";

/** The parts of a session that the command reads and changes. */
export interface CommandParts {
	readonly driver: Driver<Context>;
	readonly settings: Preferences;
	readonly limits: LimitsInForce;
	readonly display: Display;
	readonly odds: PersonalOdds;
	readonly lastOutcome: () => Outcome | undefined;
	readonly isMember: () => boolean;
	readonly file?: UserFile | undefined;
	/** Standard output, if it is ours to write. */
	readonly print?: ((text: string) => void) | undefined;
}

/** The user's settings file. */
export interface UserFile {
	/** As people write it. */
	readonly path: string;
	read(): Values;
	/** Sets the values and takes out those that are undefined; throws if it cannot. */
	write(values: Values): void;
}
