/** Finds out who starts a run: a person, or another extension. */
import type { Context, Events, Pi } from "./host.ts";
import type { chargeOf } from "./charges.ts";
import { SlashCommands } from "./slash-commands.ts";

type Charged = ReturnType<typeof chargeOf>;

export class Starting {
	readonly #slashCommands: SlashCommands;
	/** A person's prompt is about to start a run. `input` alone is not enough: an extension may answer it without a run. */
	isPersons = false;
	/** The prompt. */
	#typed: string | undefined;
	/** Prompts that other extensions have sent since then: the person does not start their runs. */
	readonly #interjected = new Set<string>();
	/** The cost of a compaction between a prompt and its run. Charged once the run has begun, because the prompt refills. */
	#owed: Charged;

	constructor(pi: Pi) {
		this.#slashCommands = new SlashCommands(pi);
	}

	watch(ctx: Context, isAsking: () => boolean): void {
		this.#slashCommands.watch(ctx, isAsking);
	}

	stop(): void {
		this.#slashCommands.stop();
	}

	/** A message arrived that goes into no running run. */
	heard({ source, text }: Events["input"]): void {
		if (source === "extension") {
			this.#interjected.add(text);
			return;
		}
		this.isPersons = true;
		this.#typed = text;
		this.#interjected.clear();
		this.#owed = undefined;
	}

	owe(amounts: Charged): void {
		this.#owed = amounts;
	}

	takeOwed(): Charged {
		const owed = this.#owed;
		this.#owed = undefined;
		return owed;
	}

	/** Pi is about to start a run; true, once, if it is the one that the person's prompt starts. */
	takePrompt(event: Events["before_agent_start"]): boolean {
		const isPrompt = (event as { messageType?: string }).messageType !== "custom";
		// Pi, or another extension, can have changed the words of either; in doubt it is not the person's.
		const isOthers = event.prompt !== this.#typed || this.#interjected.has(event.prompt);
		if (isPrompt && this.#interjected.size > 0 && isOthers) return false;
		const isPersons = this.isPersons && isPrompt;
		this.isPersons = false;
		return isPersons;
	}

	/** The run begins, so a prompt before it starts no other; true if a person's slash command started it. */
	takeSlashCommand(): boolean {
		this.isPersons = false;
		return this.#slashCommands.takeEntered();
	}

	/** The run was stopped at a limit: a slash command before that does not start the next one. */
	forgetSlashCommand(): void {
		this.#slashCommands.takeEntered();
	}
}
