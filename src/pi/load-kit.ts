/** Pi's terminal library, loaded when it is first needed: our copy of it takes some 50 ms. */
import type { Kit } from "./keys.ts";

let loaded: Kit | undefined;

export async function loadKit(): Promise<Kit> {
	return (loaded ??= await import("./kit.ts"));
}

/** Undefined until somebody has loaded it. */
export function loadedKit(): Kit | undefined {
	return loaded;
}
