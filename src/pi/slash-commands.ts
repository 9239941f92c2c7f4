/** Watches the terminal for slash commands: pi fires no `input` for those of extensions. */
import { type Context, NAME, type Pi } from "./host.ts";

/** Enter, as terminals send it. */
const ENTER = /^(\r|\n|\x1b\[13(;1)?u)$/;

export class SlashCommands {
	readonly #pi: Pick<Pi, "getCommands">;
	#isEntered = false;
	stop = (): void => {};

	constructor(pi: Pick<Pi, "getCommands">) {
		this.#pi = pi;
	}

	watch({ hasUI, mode, ui }: Context): void {
		if (!hasUI || mode !== "tui") return;
		this.stop = ui.onTerminalInput((data) => {
			if (ENTER.test(data) && this.#isCommand(ui.getEditorText())) this.#isEntered = true;
			return undefined;
		});
	}

	/** True if a person has entered a slash command of another extension since the last run started. */
	takeEntered(): boolean {
		const isEntered = this.#isEntered;
		this.#isEntered = false;
		return isEntered;
	}

	#isCommand(text: string): boolean {
		const [, name] = /^\/(\S+)/.exec(text.trimStart()) ?? [];
		if (name === undefined || name === NAME) return false;
		return this.#pi.getCommands().some((command) => command.source === "extension" && command.name === name);
	}
}
