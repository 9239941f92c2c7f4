/** SQLite as the runtime has it: node:sqlite under Node, bun:sqlite where pi is a Bun binary. */
import { LedgerError } from "../faults.ts";

export type Row = Readonly<Record<string, unknown>>;
type Value = string | number | null;

/** One open file. */
export interface Connection {
	/** Runs one statement, prepared once; `?` takes the values in order. */
	readonly run: (sql: string, ...values: Value[]) => Row[];
	readonly close: () => void;
}

/** What both modules have in common. */
interface Database {
	prepare(sql: string): { all(...values: Value[]): unknown[]; finalize?(): void };
	close(): void;
}
type Opener = new (file: string) => Database;

/** Bun before 1.4 has no node:sqlite. @throws LedgerError if there is no SQLite */
export function sqlite(): Opener {
	const Opener = "bun" in process.versions ? builtin("bun:sqlite", "Database") : quiet(nodeSqlite);
	if (!Opener) throw new LedgerError("unsuited", "The ledger needs SQLite: Node 22.13 or newer, or Bun.");
	return Opener;
}

export function connect(file: string): Connection {
	const database = new (sqlite())(file);
	const statements = new Map<string, ReturnType<Database["prepare"]>>();
	return {
		run(sql, ...values) {
			const statement = statements.get(sql) ?? database.prepare(sql);
			statements.set(sql, statement);
			return statement.all(...values) as Row[];
		},
		close() {
			// Bun keeps the file open as long as there are statements; Node ends them by itself.
			for (const statement of statements.values()) statement.finalize?.();
			database.close();
		},
	};
}

/** SQLite's own number for what went wrong, undefined if it was not SQLite. */
export function resultCode(error: unknown): number | undefined {
	const { errcode, errno, code } = error as { errcode?: unknown; errno?: unknown; code?: unknown };
	const extended = errcode ?? (String(code).startsWith("SQLITE_") ? errno : undefined);
	return typeof extended === "number" ? extended & 0xff : undefined;
}

function nodeSqlite(): Opener | undefined {
	return builtin("node:sqlite", "DatabaseSync");
}

/** Not an import, because then neither pi's loader nor a bundler has to know these modules. */
function builtin(module: string, name: string): Opener | undefined {
	const runtime = process as { getBuiltinModule?: (id: string) => Record<string, unknown> | undefined };
	return runtime.getBuiltinModule?.(module)?.[name] as Opener | undefined;
}

/** Node 22 warns that SQLite is experimental when it is first loaded; that does not concern a program that embeds us. */
function quiet<T>(load: () => T): T {
	// eslint-disable-next-line @typescript-eslint/unbound-method -- it is put back, not called
	const { emitWarning } = process;
	process.emitWarning = () => {};
	try {
		return load();
	} finally {
		process.emitWarning = emitWarning;
	}
}
