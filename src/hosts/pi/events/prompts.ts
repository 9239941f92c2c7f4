/** Finds out who starts a run: a person, or another extension. */
import { type Context, type Events, NAME, type Pi } from "../host/api.ts";
import type { Charged } from "../../../loop/driver.ts";

/** The last prompt, until its run begins. Plain data, because another instance may take it over. */
export interface Prompt {
	/** A person's prompt is about to start a run. `input` alone is not enough: an extension may answer it without a run. */
	readonly isFromPerson: boolean;
	/** The person's words. */
	readonly typed?: string;
	/** A person has entered a slash command since the last run began, and it may start the next one. */
	readonly isSlashCommand: boolean;
	/** Prompts that other extensions have sent since then: the person does not start their runs. */
	readonly interjected: readonly string[];
	/** The cost of a compaction between a prompt and its run. Charged once the run has begun, because the prompt refills. */
	readonly owed: Charged | undefined;
}

/** Enter, as terminals send it. */
const ENTER = /^(\r|\n|\x1b\[13(;1)?u)$/;

export class Prompts {
	readonly #pi: Pick<Pi, "getCommands">;
	#stopWatching = (): void => {};
	#prompt: Prompt = { isFromPerson: false, isSlashCommand: false, interjected: [], owed: undefined };

	constructor(pi: Pick<Pi, "getCommands">) {
		this.#pi = pi;
	}

	get prompt(): Prompt {
		return this.#prompt;
	}

	/** Goes on with the prompt of another instance. */
	takeOver(prompt: Prompt): void {
		this.#prompt = prompt;
	}

	/** A person's prompt is about to start a run. */
	get isPersonWaiting(): boolean {
		return this.#prompt.isFromPerson;
	}

	/**
	 * Watches the terminal for slash commands of other extensions: pi fires no `input` for those. `isAsking`: a question
	 * of ours is open, which takes the Enter.
	 */
	watch({ mode, ui }: Context, isAsking: () => boolean): void {
		if (mode !== "tui") return;
		this.#stopWatching = ui.onTerminalInput((data) => {
			if (ENTER.test(data) && !isAsking() && this.#isSlashCommand(ui.getEditorText()))
				this.#note({ isSlashCommand: true });
			return undefined;
		});
	}

	stopWatching(): void {
		this.#stopWatching();
	}

	/** A message arrived while no run was in progress. */
	heard({ source, text }: Events["input"]): void {
		if (source === "extension") this.#note({ interjected: [...this.#prompt.interjected, text] });
		else this.#note({ isFromPerson: true, typed: text, interjected: [], owed: undefined });
	}

	owe(amounts: Charged | undefined): void {
		this.#note({ owed: amounts });
	}

	takeOwed(): Charged | undefined {
		const { owed } = this.#prompt;
		this.#note({ owed: undefined });
		return owed;
	}

	/** Pi is about to start a run; true, once, if it is the one that the person's prompt starts. */
	takePrompt(event: Events["before_agent_start"]): boolean {
		const { isFromPerson, typed, interjected } = this.#prompt;
		const isPrompt = (event as { messageType?: string }).messageType !== "custom";
		// Pi, or another extension, can have changed the words of either; in doubt it is not the person's.
		const isByExtension = event.prompt !== typed || interjected.includes(event.prompt);
		if (isPrompt && interjected.length > 0 && isByExtension) return false;
		this.#note({ isFromPerson: false });
		return isFromPerson && isPrompt;
	}

	/** The run begins, so a prompt before it starts no other; true if a person's slash command started it. */
	takeSlashCommand(): boolean {
		const { isSlashCommand } = this.#prompt;
		this.#note({ isFromPerson: false, isSlashCommand: false });
		return isSlashCommand;
	}

	/** The run was stopped at a limit: a slash command before that does not start the next one. */
	forgetSlashCommand(): void {
		this.#note({ isSlashCommand: false });
	}

	/** Also if the name is not complete: Enter lets pi complete it with any name that has its letters in this order. */
	#isSlashCommand(text: string): boolean {
		const [, name = NAME, rest] = /^\/(\S+)(\s*)/.exec(text.trimStart()) ?? [];
		if (name === NAME) return false;
		const isMeant = (command: string): boolean => command === name || (rest === "" && hasInOrder(command, name));
		return this.#pi
			.getCommands()
			.some((command) => command.source === "extension" && command.name !== NAME && isMeant(command.name));
	}

	#note(facts: Partial<Prompt>): void {
		this.#prompt = { ...this.#prompt, ...facts };
	}
}

function hasInOrder(text: string, letters: string): boolean {
	let found = 0;
	for (const letter of text) if (letter === letters[found]) found++;
	return found === letters.length;
}
