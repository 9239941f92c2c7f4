/** How long any wait of the harness may last, in milliseconds. A busy machine is no failure. */
export const deadline = Number(process.env["PI_TEST_DEADLINE"] || 60_000);

/** Fails with `what` and the tail of everything seen if `promise` takes longer than the deadline. */
export function within<T>(what: string, promise: Promise<T>, seen: () => string, ms = deadline): Promise<T> {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => {
			reject(new Error(`Waited ${ms} ms for ${what}. Seen so far:\n${seen().slice(-6000)}`));
		}, ms);
		promise.then(resolve, reject).finally(() => clearTimeout(timer));
	});
}

/** Something that ends: a test, or the demonstration. */
export interface Scope {
	after: (undo: () => unknown) => void;
}

const undos = new WeakMap<Scope, (() => unknown)[]>();

/**
 * Undoes something when the test is over, last things first: processes end before their folders go. What cannot be
 * undone fails the test and keeps nothing else from being undone.
 */
export function defer(t: Scope, undo: () => unknown): void {
	const list = undos.get(t) ?? [];
	if (list.push(undo) > 1) return;
	undos.set(t, list);
	t.after(() => unwind(list));
}

async function unwind(list: (() => unknown)[]): Promise<void> {
	const undo = list.pop();
	if (!undo) return;
	try {
		await undo();
	} finally {
		await unwind(list);
	}
}

/** Something that changes and that tests wait for. */
export class Watch {
	readonly #seen: () => string;
	readonly #checks = new Set<() => void>();
	#over: string | undefined;

	constructor(seen: () => string) {
		this.#seen = seen;
	}

	/** Looks again, for everybody who waits. */
	changed(): void {
		for (const check of [...this.#checks]) check();
	}

	/** Nothing will change any more: those who still wait fail at once, and say why. */
	over(why: string): void {
		this.#over = why;
		this.changed();
	}

	/** The first value that `look` gives other than undefined and false. */
	until<T>(what: string, look: () => T | undefined | false): Promise<T> {
		let check = (): void => {};
		const found = new Promise<T>((resolve, reject) => {
			check = () => {
				const value = look();
				if (value !== undefined && value !== false) return resolve(value);
				if (this.#over) reject(new Error(`No ${what}: ${this.#over}. Seen:\n${this.#seen().slice(-6000)}`));
			};
			this.#checks.add(check);
			check();
		});
		return within(what, found, this.#seen).finally(() => this.#checks.delete(check));
	}
}
