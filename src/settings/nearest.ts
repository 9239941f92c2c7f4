/** Names that somebody may have meant. */

/** The known name closest to `name`: at most two letters differ, and less than half of them. Case does not matter. */
export function nearest(name: string, known: readonly string[]): string | undefined {
	for (const edits of [0, 1, 2]) {
		const isNear = (each: string): boolean =>
			edits * 2 < each.length && isWithin(name.toLowerCase(), each.toLowerCase(), edits);
		const found = known.find(isNear);
		if (found !== undefined) return found;
	}
	return undefined;
}

/** True if so many letters added, removed, replaced or swapped with the next turn one text into the other. */
function isWithin(one: string, other: string, edits: number): boolean {
	if (one === other) return true;
	if (edits === 0) return false;
	let same = 0;
	while (one[same] === other[same]) same++;
	const [a, b, afterA, afterB] = [one.slice(same), other.slice(same), one.slice(same + 1), other.slice(same + 1)];
	const isSwapped = a[0] === b[1] && a[1] === b[0];
	if (isSwapped && isWithin(afterA.slice(1), afterB.slice(1), edits - 1)) return true;
	return isWithin(afterA, b, edits - 1) || isWithin(a, afterB, edits - 1) || isWithin(afterA, afterB, edits - 1);
}
