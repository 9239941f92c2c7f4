/** Maps errors of SQLite and of the file system to the port's faults. */
import { resultCode } from "./runtime.ts";
import { type Fault, LedgerError } from "../faults.ts";

/** By SQLite's result codes. */
const SQLITE: Readonly<Record<number, Fault>> = {
	3: "read-only", // PERM
	5: "locked", // BUSY
	6: "locked", // LOCKED
	8: "read-only", // READONLY
	11: "damaged", // CORRUPT
	13: "full", // FULL
	26: "damaged", // NOTADB
};

/** By the system's error codes. */
const SYSTEM: Readonly<Record<string, Fault>> = {
	EACCES: "read-only",
	EPERM: "read-only",
	EROFS: "read-only",
	ENOSPC: "full",
	EDQUOT: "full",
};

/** Returns misuse, and what already has a kind, unchanged. */
export function toLedgerError(error: unknown, path: string): LedgerError | RangeError {
	if (error instanceof LedgerError || error instanceof RangeError) return error;
	const { code, message } = error as NodeJS.ErrnoException;
	const result = resultCode(error);
	const kind = (result === undefined ? SYSTEM[String(code)] : SQLITE[result]) ?? "unreachable";
	return new LedgerError(kind, `The ledger ${path} cannot be used: ${message}.`, { cause: error });
}
