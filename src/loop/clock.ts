/** Measures the time in which the agent works. */

/** How often the clock checks that the process runs, in milliseconds. */
const TICK = 5_000;

/** A longer gap between two checks means that the machine was suspended, or a tool has blocked the process. */
const LONG = 60_000;

/** A timer cannot wait longer, in milliseconds. */
const LONGEST_TIMER = 2_147_483_647;

export class Clock {
	readonly #now: () => number;
	readonly #busy: () => number;
	/** Not yet charged. */
	#worked = 0;
	/** The time of the last check; undefined while the agent does not work. */
	#last: number | undefined;
	#lastBusy = 0;
	#ticking: NodeJS.Timeout | undefined;
	#alarm: NodeJS.Timeout | undefined;

	/** `busy`: the milliseconds in which this thread did not wait for events. A suspended machine waits, a blocked process does not. */
	constructor(now = () => performance.now(), busy = () => performance.eventLoopUtilization().active) {
		this.#now = now;
		this.#busy = busy;
	}

	get isRunning(): boolean {
		return this.#last !== undefined;
	}

	/** The agent works; nothing happens if it did before. */
	run(): void {
		if (this.#last === undefined) this.#note();
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
		const [last, lastBusy] = [this.#last, this.#lastBusy];
		const now = this.#note();
		const gap = now - last;
		this.#worked += gap <= LONG ? gap : Math.min(gap, this.#lastBusy - lastBusy);
	}

	#note(): number {
		this.#lastBusy = this.#busy();
		return (this.#last = this.#now());
	}
}
