/** Text from outside, made safe to show in one line. */

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
