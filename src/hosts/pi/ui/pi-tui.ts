/**
 * The part of pi's own terminal library that we use: it reads every terminal's keys, and has the widths that pi
 * draws with. Imported when it is first needed (`load-pi-tui.ts`). A program that embeds pi need not have it; the package has a copy, because
 * Node cannot import pi's own from there.
 */
export {
	decodeKittyPrintable,
	parseKey,
	setKeybindings,
	setKittyProtocolActive,
	Text,
	truncateToWidth,
	wrapTextWithAnsi,
} from "@earendil-works/pi-tui";

/*! Holds parts of @earendil-works/pi-tui, (c) Mario Zechner, and of get-east-asian-width, (c) Sindre Sorhus: MIT License, see LICENSE. */
