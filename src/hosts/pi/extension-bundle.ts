/** The extension as the package ships it: bundled, so that Node imports it by itself. */
import { statSync } from "node:fs";
import extension from "./extension.ts";
import type { Pi } from "./host/api.ts";

const file = new URL(import.meta.url);
file.search = "";
const loaded = changedAt();

/** Node keeps a module for as long as pi runs. If the file has changed since, as by an update, a reload takes the new one. */
export default async function (pi: Pi): Promise<unknown> {
	const now = changedAt();
	return now === loaded ? extension(pi) : (await importAt(now))(pi);
}

function changedAt(): number | undefined {
	return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}

/** An update that cannot be loaded leaves us in charge: pi would run unguarded. */
async function importAt(time: number | undefined): Promise<(pi: Pi) => unknown> {
	try {
		const updated = (await import(`${file.href}?${String(time)}`)) as { default: (pi: Pi) => unknown };
		return updated.default;
	} catch {
		return extension;
	}
}
