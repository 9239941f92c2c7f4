/** An extension that makes pi's theme when it is loaded, to draw with it. */
import { initTheme } from "@earendil-works/pi-coding-agent";

export default function (): void {
	initTheme();
}
