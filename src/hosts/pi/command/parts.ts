import type { Driver } from "../../../loop/driver.ts";
import type { Values } from "../../../settings/places.ts";
import type { Context } from "../host/api.ts";
import type { Role } from "../lifecycle/root-or-member.ts";
import type { Reports } from "../outcome/report.ts";
import type { LimitsInForce } from "../settings/limits-in-force.ts";
import type { SessionSettings } from "../settings/session-settings.ts";
import type { Notices } from "../ui/notices.ts";
import type { PersonalOdds } from "../ui/odds.ts";

/** The parts of a session that the command reads and changes. */
export interface CommandParts {
	readonly driver: Driver<Context>;
	readonly settings: SessionSettings;
	readonly limits: LimitsInForce;
	readonly notices: Notices;
	readonly odds: PersonalOdds;
	readonly reports: Pick<Reports, "lastOutcome">;
	readonly role: Pick<Role, "isMember">;
	readonly file?: UserFile | undefined;
	/** Standard output, if it is ours to write. */
	readonly print?: ((text: string) => void) | undefined;
}

/** The user's settings file. */
export interface UserFile {
	/** As people write it. */
	readonly path: string;
	/** Throws if it cannot. */
	read(): Values;
	/** Sets the values and takes out those that are undefined; throws if it cannot. */
	write(values: Values): void;
}
