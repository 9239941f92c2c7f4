/** Writes settings into a file. */
import { isObject } from "../core/is-object.ts";
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { quote } from "../core/text.ts";
import { readObject, type Values } from "./places.ts";

/** Sets the values, takes out those that are undefined, and keeps everything else that stands in the file. Throws if the file is damaged or cannot be written. */
export function writeSettings(path: string, values: Values): void {
	const content = merge(readObject(path), values);
	mkdirSync(dirname(path), { recursive: true });
	const before = statSync(path, { throwIfNoEntry: false });
	// A link to a file elsewhere stays one.
	const target = before ? realpathSync(path) : path;
	const indent = before ? /^[ \t]+(?=")/m.exec(readFileSync(path).toString())?.[0] : undefined;
	const draft = `${target}.${process.pid}`;
	try {
		writeFileSync(draft, `${JSON.stringify(content, undefined, indent ?? "\t")}\n`, { mode: before?.mode });
		renameSync(draft, target);
	} catch (error) {
		// On a full disk a file can be created, but not written.
		rmSync(draft, { force: true });
		throw error;
	}
}

/** `session.maxCost` is in the object `session`, which is removed with the last of its values. */
function merge(content: Readonly<Record<string, unknown>>, values: Values): Readonly<Record<string, unknown>> {
	const next: Record<string, unknown> = { ...content };
	for (const [key, value] of Object.entries(values)) {
		const [scope, inner] = key.split(".") as [string, string | undefined];
		const held = next[scope] ?? {};
		if (inner === undefined) next[key] = value;
		else if (isObject(held)) {
			// The file may also have it with a dot; of two the last would count.
			next[key] = undefined;
			next[scope] = without({ ...held, [inner]: value });
		} else throw new Error(`${scope}: expected an object, got ${quote(held)}`);
	}
	return next;
}

/** Undefined in place of an object that JSON would write as an empty one. */
function without(held: Readonly<Record<string, unknown>>): object | undefined {
	return Object.values(held).some((value) => value !== undefined) ? held : undefined;
}
