/** Pi's terminal library, loaded when it is first needed: our copy of it takes some 50 ms. */
import type { PiTui } from "./dialog/keys.ts";

let loaded: PiTui | undefined;
let loading: Promise<PiTui> | undefined;

/** Imported once, because pi's loader gives undefined to a second import while the first is under way. */
export async function loadPiTui(): Promise<PiTui> {
	return (loaded = await (loading ??= import("./pi-tui.ts")));
}

/** Undefined until it is loaded. */
export function loadedPiTui(): PiTui | undefined {
	return loaded;
}
