/** The pictures of the manual, read as text. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const docs = resolve(import.meta.dirname, "../../docs");

const ENTITIES: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">" };

/** What each frame shows; a picture that does not move has one. */
export function framesOf(name: string): string[] {
	const svg = readFileSync(join(docs, `${name}.svg`), "utf8");
	const rows = new Map<string, string>();
	for (const [, id = "", drawn = ""] of svg.matchAll(/<g id="(\w+)">(.*)<\/g>/g)) rows.set(id, textOf(drawn));
	const height = Number(/<svg x=.* height="(\d+)">/.exec(svg)?.[1]);
	const frames: string[][] = [];
	for (const [, id = "", y] of svg.matchAll(/<use href="#(\w+)" y="(\d+)"\/>/g))
		(frames[Math.floor(Number(y) / height)] ??= []).push(rows.get(id) ?? "");
	return frames.map((lines) => lines.join("\n"));
}

/** What a picture that does not move shows. */
export function textIn(name: string): string {
	const [text = "", ...more] = framesOf(name);
	if (more.length > 0) throw new RangeError(`${name} moves`);
	return text;
}

function textOf(drawn: string): string {
	return drawn.replace(/<[^>]*>/g, "").replace(/&\w+;/g, (entity) => ENTITIES[entity] ?? entity);
}
