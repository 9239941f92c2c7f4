/** Watches the terminal for slash commands: pi fires no `input` for those of extensions. */
import { type Context, NAME, type Pi } from "../host/api.ts";

/** Enter, as terminals send it. */
const ENTER = /^(\r|\n|\x1b\[13(;1)?u)$/;

export class SlashCommands {
	readonly #pi: Pick<Pi, "getCommands">;
	stop = (): void => {};

	constructor(pi: Pick<Pi, "getCommands">) {
		this.#pi = pi;
	}

	/** Calls `entered` for those of other extensions. `isAsking`: a question of ours is open, which takes the Enter. */
	watch({ mode, ui }: Context, isAsking: () => boolean, entered: () => void): void {
		if (mode !== "tui") return;
		this.stop = ui.onTerminalInput((data) => {
			if (ENTER.test(data) && !isAsking() && this.#isCommand(ui.getEditorText())) entered();
			return undefined;
		});
	}

	/** Also if the name is not complete: Enter lets pi complete it with any name that has its letters in this order. */
	#isCommand(text: string): boolean {
		const [, name = NAME, rest] = /^\/(\S+)(\s*)/.exec(text.trimStart()) ?? [];
		if (name === NAME) return false;
		const isMeant = (command: string): boolean => command === name || (rest === "" && hasInOrder(command, name));
		return this.#pi
			.getCommands()
			.some((command) => command.source === "extension" && command.name !== NAME && isMeant(command.name));
	}
}

function hasInOrder(text: string, letters: string): boolean {
	let found = 0;
	for (const letter of text) if (letter === letters[found]) found++;
	return found === letters.length;
}
