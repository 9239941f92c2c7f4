/** An extension that does what pi does before it starts its session: makes its theme and listens for SIGTERM. */
import { initTheme } from "@earendil-works/pi-coding-agent";

export default function (): void {
	initTheme();
	process.on("SIGTERM", () => {});
}
