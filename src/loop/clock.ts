/** Measures the time in which the agent works. */

/** How often the clock looks whether the process runs, in milliseconds. */
const TICK = 5_000;

/** A longer gap between two looks means that the machine was suspended. */
const SUSPENDED = 60_000;

/** A timer cannot wait longer, in milliseconds. */
const LONGEST_TIMER = 2_147_483_647;

export class Clock {
	readonly #now: () => number;
	/** Not yet charged. */
	#worked = 0;
	/** The last look at the time; undefined while the agent does not work. */
	#last: number | undefined;
	#ticking: NodeJS.Timeout | undefined;
	#alarm: NodeJS.Timeout | undefined;

	constructor(now: () => number = () => performance.now()) {
		this.#now = now;
	}

	get isRunning(): boolean {
		return this.#last !== undefined;
	}

	/** The agent works; nothing happens if it did before. */
	run(): void {
		this.#last ??= this.#now();
		this.#ticking ??= setInterval(() => this.#look(), TICK).unref();
	}

	/** Stops until `run`, because a dialog is open. */
	pause(): void {
		this.#look();
		this.#last = undefined;
	}

	/** The run is over. */
	stop(): void {
		this.pause();
		clearInterval(this.#ticking);
		this.#ticking = undefined;
		this.cancelAlarm();
	}

	/** Whole milliseconds of work since the last lap. */
	lap(): number {
		this.#look();
		const whole = Math.floor(this.#worked);
		this.#worked -= whole;
		return whole;
	}

	/** Calls `ring` after so many milliseconds; replaces the alarm before. */
	setAlarm(ms: number, ring: () => void): void {
		this.cancelAlarm();
		this.#alarm = setTimeout(ring, Math.min(ms, LONGEST_TIMER));
	}

	cancelAlarm(): void {
		clearTimeout(this.#alarm);
	}

	#look(): void {
		if (this.#last === undefined) return;
		const now = this.#now();
		const gap = now - this.#last;
		this.#last = now;
		if (gap <= SUSPENDED) this.#worked += gap;
	}
}
