/** A picture of the manual in pixels, the same on every machine: for places that show no SVG, such as pi's gallery. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { initWasm, Resvg } from "@resvg/resvg-wasm";

const read = (url: string): Uint8Array => readFileSync(fileURLToPath(url));
const fonts = [
	import.meta.resolve("@fontsource/dejavu-mono/files/dejavu-mono-latin-400-normal.woff2"),
	import.meta.resolve("@fontsource/dejavu-mono/files/dejavu-mono-latin-700-normal.woff2"),
].map(read);
let loading: Promise<void> | undefined;

/** The dark picture at twice its size. */
export async function png(svg: string): Promise<Uint8Array> {
	await (loading ??= initWasm(read(import.meta.resolve("@resvg/resvg-wasm/index_bg.wasm"))));
	// The font has no Braille, which pi's spinner is made of.
	const picture = new Resvg(svg.replaceAll(/[\u2800-\u28ff]/g, "·"), {
		font: { fontBuffers: fonts, defaultFontFamily: "DejaVu Sans Mono", monospaceFamily: "DejaVu Sans Mono" },
		fitTo: { mode: "zoom", value: 2 },
	});
	return picture.render().asPng();
}
