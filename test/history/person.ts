/** The sessions of a made-up person, for tests on a real pi and for the picture. */
import { Story } from "./story.ts";

const SESSIONS = 60;
const PROMPTS = 4;
const DAY = 86_400_000;

/**
 * 240 prompts in 60 session files, as `agentFiles` of a sandbox, the last of them yesterday. Mostly small things;
 * some long ones were interrupted. Every fifth session is a script's, which a limit of 25 turns has ended now and then.
 */
export function personsSessions(today = Date.now()): Record<string, string> {
	const files: Record<string, string> = {};
	for (let n = 0; n < SESSIONS; n++) {
		const story = new Story(`s${n}`, { at: today - (1 + ((SESSIONS - 1 - n) % 28)) * DAY });
		for (let i = 0; i < PROMPTS; i++) prompt(story, n * PROMPTS + i, n % 5 === 4);
		files[`sessions/--project-${n % 3}--/${n}.jsonl`] = story.lines().join("\n");
	}
	return files;
}

function prompt(story: Story, i: number, isScript: boolean): void {
	const all = SESSIONS * PROMPTS;
	const wanted = Math.round(1.9 / (1 - (((i * 7) % all) + 0.5) / all) ** 0.72);
	const turns = isScript ? Math.min(wanted, 25) : wanted;
	const answer = { cost: i % 2 === 0 ? 0.04 : 0, tokens: 1900, seconds: 11 };
	story.prompt(`prompt ${i}`);
	for (let turn = 1; turn < turns; turn++) story.answer({ ...answer, calls: 1 }).result();
	story.answer(turns > 10 && i % 5 === 0 ? { ...answer, stopReason: "aborted" } : answer);
	if (turns > 25) story.outcome({ kind: "completed", continuations: Math.floor((turns - 1) / 25), attended: true });
	const stop = { kind: "wrapped_up", continuations: 0, meter: "turns", limit: 25, attended: false };
	if (isScript && turns === 25) story.outcome(stop);
}
