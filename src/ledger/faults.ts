/** The table of faults: why a ledger cannot be used, and what follows. A new fault is a row here. */
interface FaultRow {
	/** Whether to try again: at once until the deadline, when it is next needed, or not before something was changed. */
	readonly retry: "at once" | "later" | "never";
	/** What the ledger knows afterwards: all counts, none because it restarts, or nothing of this account. */
	readonly knows: "all" | "nothing" | "others";
	/** The file is moved aside if this is found when it is opened. */
	readonly movesAside: boolean;
}

export const FAULTS = {
	/** Others kept it locked until the deadline. */
	locked: { retry: "at once", knows: "all", movesAside: false },
	full: { retry: "later", knows: "all", movesAside: false },
	"read-only": { retry: "later", knows: "all", movesAside: false },
	damaged: { retry: "later", knows: "nothing", movesAside: true },
	/** A link, somebody else's file, or outside of the directory it has to be in. */
	unsafe: { retry: "later", knows: "all", movesAside: false },
	/** This file system, this runtime or this version of the file cannot work. */
	unsuited: { retry: "never", knows: "all", movesAside: false },
	/** It was moved or deleted while it was open. */
	replaced: { retry: "later", knows: "nothing", movesAside: false },
	/** It does not know this fleet or tree: it is not the ledger that was joined. */
	unjoined: { retry: "later", knows: "others", movesAside: false },
	/** It does not let this user in, or not do this. */
	denied: { retry: "later", knows: "all", movesAside: false },
	closed: { retry: "later", knows: "all", movesAside: false },
	unreachable: { retry: "later", knows: "all", movesAside: false },
} as const satisfies Readonly<Record<string, FaultRow>>;

/** Why a ledger cannot be used. */
export type Fault = keyof typeof FAULTS;

/** The store cannot be used. Close the ledger, and open it again at the next gate. */
export class LedgerError extends Error {
	override readonly name = "LedgerError";
	readonly kind: Fault;

	constructor(kind: Fault, message: string, options?: ErrorOptions) {
		super(message, options);
		this.kind = kind;
	}
}

/** What follows from an error, if it is a fault of the ledger. */
export function faultOf(error: unknown): FaultRow | undefined {
	return error instanceof LedgerError ? FAULTS[error.kind] : undefined;
}
