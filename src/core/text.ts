/** Text from outside, made safe to show: a terminal obeys nothing in it. */

/** A terminal obeys these, or shows what follows them elsewhere. Joiners only shape the letters beside them. */
const OBEYED = /(?![\t\n\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text with its lines and blanks; what a terminal would obey becomes a replacement character. */
export function safe(text: string): string {
	return text.replace(OBEYED, "\uFFFD");
}

/** `value` in a few letters, whatever it is. */
export function quote(value: unknown): string {
	try {
		return clip(typeof value === "number" ? String(value) : JSON.stringify(value), 60);
	} catch {
		return typeof value;
	}
}

/** One line of at most `length` letters. */
export function clip(text: string, length: number): string {
	const letters = Array.from(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim());
	return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : letters.join("");
}

/** The words in lines of at most `room` letters, as far as they fit, each as far to the right as the text begins. */
export function wrap(text: string, room: number): string[] {
	const words = text.trimStart();
	const indent = text.slice(0, text.length - words.length);
	const lines: string[] = [];
	for (const word of words.split(" ")) {
		const last = lines.pop();
		if (last === undefined) lines.push(indent + word);
		else if (`${last} ${word}`.length <= room) lines.push(`${last} ${word}`);
		else lines.push(last, indent + word);
	}
	return lines;
}
