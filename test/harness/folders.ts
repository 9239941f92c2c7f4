/** Folders of a sandbox. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Of an agent directory: pi only looks whether these two exist, and warns on the screen if not. */
export const helpers = { "bin/fd": "", "bin/rg": "" };

/** Writes files into a folder; objects become JSON. */
export function write(folder: string, files: Record<string, string | object> = {}): void {
	mkdirSync(folder, { recursive: true });
	for (const [name, content] of Object.entries(files)) {
		mkdirSync(dirname(join(folder, name)), { recursive: true });
		writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
	}
}
