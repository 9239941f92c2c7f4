/** The table of odds that a real pi makes. */
import { existsSync, readdirSync, watch } from "node:fs";
import { join } from "node:path";
import { ODDS_FILE } from "../../src/history/odds-file.ts";
import { within } from "../harness/wait.ts";

/** Waits until the worker of a pi has written the table. */
export async function tableIn(agentDir: string): Promise<void> {
	const changes = watch(agentDir);
	const written = new Promise<void>((resolve) => {
		const look = (): void => {
			if (existsSync(join(agentDir, ODDS_FILE))) resolve();
		};
		changes.on("change", look);
		look();
	});
	await within("the table of odds", written, () => readdirSync(agentDir).join()).finally(() => changes.close());
}
