/** Finds out who starts a run: a person, or another extension. */
import type { Context, Events, Pi } from "../host/api.ts";
import type { chargeOf } from "../host/usage.ts";
import { SlashCommands } from "./slash-commands.ts";

type Charged = ReturnType<typeof chargeOf>;

/** The last prompt, until its run begins. */
export interface Prompt {
	/** A person's prompt is about to start a run. `input` alone is not enough: an extension may answer it without a run. */
	isPersons: boolean;
	/** The person's words. */
	typed?: string;
	/** A person has entered a slash command since the last run began, and it may start the next one. */
	isSlashCommand: boolean;
	/** Prompts that other extensions have sent since then: the person does not start their runs. */
	interjected: Set<string>;
	/** The cost of a compaction between a prompt and its run. Charged once the run has begun, because the prompt refills. */
	owed: Charged;
}

export class Starting {
	readonly #slashCommands: SlashCommands;
	prompt: Prompt = { isPersons: false, isSlashCommand: false, interjected: new Set(), owed: undefined };

	constructor(pi: Pi) {
		this.#slashCommands = new SlashCommands(pi);
	}

	watch(ctx: Context, isAsking: () => boolean): void {
		this.#slashCommands.watch(ctx, isAsking, () => (this.prompt.isSlashCommand = true));
	}

	stop(): void {
		this.#slashCommands.stop();
	}

	/** A message arrived that goes into no running run. */
	heard({ source, text }: Events["input"]): void {
		if (source === "extension") this.prompt.interjected.add(text);
		else this.prompt = { ...this.prompt, isPersons: true, typed: text, interjected: new Set(), owed: undefined };
	}

	owe(amounts: Charged): void {
		this.prompt.owed = amounts;
	}

	takeOwed(): Charged {
		const { owed } = this.prompt;
		this.prompt.owed = undefined;
		return owed;
	}

	/** Pi is about to start a run; true, once, if it is the one that the person's prompt starts. */
	takePrompt(event: Events["before_agent_start"]): boolean {
		const { prompt } = this;
		const isPrompt = (event as { messageType?: string }).messageType !== "custom";
		// Pi, or another extension, can have changed the words of either; in doubt it is not the person's.
		const isOthers = event.prompt !== prompt.typed || prompt.interjected.has(event.prompt);
		if (isPrompt && prompt.interjected.size > 0 && isOthers) return false;
		const isPersons = prompt.isPersons && isPrompt;
		prompt.isPersons = false;
		return isPersons;
	}

	/** The run begins, so a prompt before it starts no other; true if a person's slash command started it. */
	takeSlashCommand(): boolean {
		const { isSlashCommand } = this.prompt;
		this.prompt.isPersons = false;
		this.forgetSlashCommand();
		return isSlashCommand;
	}

	/** The run was stopped at a limit: a slash command before that does not start the next one. */
	forgetSlashCommand(): void {
		this.prompt.isSlashCommand = false;
	}
}
