/** An extension that says whether its session has extensions that are built into pi's command line. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { hasBuiltIn } from "../../src/hosts/pi/host/api.ts";

export default function (pi: ExtensionAPI): void {
	pi.on("session_start", () => console.error(`built-in: ${hasBuiltIn(pi)}`));
}
