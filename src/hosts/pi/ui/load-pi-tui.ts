/** Pi's terminal library, loaded when it is first needed: our copy of it takes some 50 ms. */
import type { Kit } from "./dialog/keys.ts";

let loaded: Kit | undefined;
let loading: Promise<Kit> | undefined;

/** Imported once, because pi's loader gives undefined to a second import while the first is under way. */
export async function loadKit(): Promise<Kit> {
	return (loaded = await (loading ??= import("./pi-tui.ts")));
}

/** Undefined until somebody has loaded it. */
export function loadedKit(): Kit | undefined {
	return loaded;
}
