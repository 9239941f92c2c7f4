/** A task for the pictures: a flaky test, and a model that makes it sleep longer and longer. */
import { bash, calls, type Call, type Reply, text } from "../test/harness/index.ts";

export const PROMPT = "queue.test.js is flaky. Find out why, and fix it.";

const FILE = "queue.test.js";

export const files = {
	[FILE]: `import { Queue } from "./queue.js";

test("runs what was pushed", async () => {
	const ran = [];
	new Queue().push(() => ran.push("job"));
	await sleep(10);
	assert.deepEqual(ran, ["job"]);
});
`,
	repeat: `# Runs the test again and again.
grep -q "sleep(10)" ${FILE} && failed=4 || failed=1
echo "$1 runs of ${FILE}: $(($1 - failed)) passed, $failed failed"
`,
};

const read: Call = { name: "read", args: { path: FILE } };
const repeat = bash("sh repeat 20");

function sleep(now: number, then: number): Call {
	const edits = [{ oldText: `sleep(${now})`, newText: `sleep(${then})` }];
	return { name: "edit", args: { path: FILE, edits } };
}

/** What the model says and does, turn after turn. */
export const work: readonly (Reply & { text: string })[] = (
	[
		["I'll read the test first.", read],
		["It sleeps 10 ms and hopes that the job has run. How often does that fail?", repeat],
		["4 of 20. I'll let it sleep for 50 ms.", sleep(10, 50)],
		["Does that help?", repeat],
		["Still 1 of 20. I'll try 200 ms.", sleep(50, 200)],
		["And now?", repeat],
		["Still 1 of 20. I'll try 500 ms.", sleep(200, 500)],
		["Once more.", repeat],
	] as const
).map(([words, call]) => ({ text: words, ...calls(call) }));

/** What it says when it has to close. */
export const report = text(
	"Done: I know why. The test sleeps and hopes that the job has run by then.\n\nLeft: let the queue say when it is idle, and wait for that.",
);
