/** Where the ledger's file stands: private to the user, inside the agent directory, on a disk that SQLite can share. */
import {
	accessSync,
	chmodSync,
	closeSync,
	constants,
	lstatSync,
	mkdirSync,
	openSync,
	realpathSync,
	type Stats,
} from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { LedgerError } from "../faults.ts";

/**
 * File systems that do not share locks and memory with every process that sees the file, by Linux' numbers. FUSE is one
 * of them because sshfs and cluster file systems have the same number as local ones.
 */
const UNFIT_FILE_SYSTEMS: Readonly<Record<number, string>> = {
	0x6969: "NFS",
	0x517b: "SMB",
	0xfe534d42: "SMB2",
	0xff534d42: "CIFS",
	0x564c: "NCP",
	0x5346414f: "AFS",
	0x6b414653: "AFS",
	0x73757245: "Coda",
	0x00c36400: "Ceph",
	0x0bd00bd0: "Lustre",
	0x47504653: "GPFS",
	0x01021997: "9P",
	0x65735546: "FUSE",
	0x786f4256: "VirtualBox shared folder",
	0xbacbacbc: "VMware shared folder",
};

/** A file that may be used. */
export interface Secured {
	readonly file: string;
	readonly inode: number;
	/** We have made it just now, and it is empty. */
	readonly isNew: boolean;
}

/** How long another process may take from making a file to writing into it, in milliseconds. */
const MAKING = 2_000;

/** @throws LedgerError for an empty file: it is `locked` while another process may be making it. */
export function checkLength({ file, isNew }: Secured): void {
	const { size, mtimeMs } = lstatSync(file);
	// SQLite also takes one byte, such as a line break, for an empty database.
	if (size > 1 || isNew) return;
	if (Math.abs(Date.now() - mtimeMs) < MAKING) throw new LedgerError("locked", `The ledger ${file} is being made.`);
	throw new LedgerError("damaged", `The ledger ${file} is empty.`);
}

const FILE = "ledger.sqlite";

/** The file is there, whether it may be used or not. */
export function isMade(folder: string): boolean {
	return exists(join(folder, FILE));
}

/** Makes the directory and the file if need be. */
export function secure(folder: string, within: string, typeOf: (path: string) => number): Secured {
	const directory = resolve(folder);
	// Checked before it is made, because a link on the way leads elsewhere.
	const way = relative(realpathSync(within), realpathSync(dirname(directory)));
	if (way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) unsafe(`${directory} is outside of ${within}`);
	if (!exists(directory)) make(() => mkdirSync(directory, { mode: 0o700 }));
	own(directory, "directory");
	const type = UNFIT_FILE_SYSTEMS[typeOf(directory) >>> 0];
	if (type)
		throw new LedgerError(
			"unsuited",
			`The ledger in ${directory} needs a local disk; this is a file system of ${type}.`,
		);
	const file = join(directory, FILE);
	// An existing file is never opened here, because closing it drops the locks of every connection in this process.
	const isNew = !exists(file) && make(() => closeSync(openSync(file, "wx", 0o600)));
	const { ino } = own(file, "file");
	accessSync(file, constants.W_OK); // finds a disk that is mounted read-only
	return { file, inode: ino, isNew };
}

/** False if another process was quicker. */
function make(create: () => void): boolean {
	try {
		create();
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
		return false;
	}
}

function exists(path: string): boolean {
	return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** The user's own, not a link, readable by nobody else. */
function own(path: string, what: "directory" | "file"): Stats {
	const stats = lstatSync(path);
	if (stats.isSymbolicLink() || (stats.isFile() && stats.nlink > 1)) unsafe(`${path} is a link`);
	if (!(what === "file" ? stats.isFile() : stats.isDirectory())) unsafe(`${path} is not a ${what}`);
	const user = process.geteuid?.();
	if (user !== undefined && stats.uid !== user) unsafe(`${path} belongs to another user`);
	// SQLite would open it all the same, and leave files behind that stay read-only.
	const needed = what === "file" ? 0o600 : 0o700;
	if ((stats.mode & needed) !== needed) throw new LedgerError("read-only", `The ledger ${path} is read-only.`);
	if ((stats.mode & 0o077) !== 0) chmodSync(path, stats.mode & 0o700);
	return stats;
}

function unsafe(why: string): never {
	throw new LedgerError("unsafe", `The ledger is refused: ${why}.`);
}
