/**
 * `npm start`: the product at work on a real pi, with a scripted model on loopback; no key, no network.
 * In a terminal it is pi itself, and the model tells what to press. Without one it tells a story and ends.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { HostOptions } from "../test/harness/host.ts";
import { endless, mark, type Reply, type Request, text, times } from "../test/harness/model.ts";
import { bringHost, newest } from "./hosts.js";

process.env["PI_TEST_HOST"] ||= await bringHost(newest);
const { host } = await import("../test/harness/host.ts"); // reads PI_TEST_HOST when it is loaded

let undo = (): unknown => undefined;
let ending: Promise<void> | undefined;
const scope = { after: (all: () => unknown): unknown => (undo = all) };

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void end(130));

/** Once, whoever comes first: the end of the story, or a signal in the middle of it. */
function end(code: number): Promise<void> {
	return (ending ??= Promise.resolve(undo()).finally(() => process.exit(code)) as Promise<void>);
}

/** Sends what pi is given, and prints what came back. */
async function tell(title: string, options: HostOptions & { env: Record<string, string> }): Promise<void> {
	const pi = await host(scope, options);
	const variables = Object.entries(options.env).map(([name, value]) => `${name}=${value}`);
	const { stdout, stderr, code } = await pi.print("Tidy up the tests.");
	await ending;
	console.log(`\n${title}\n`);
	console.log(`  $ ${variables.join(" ")} pi -p "Tidy up the tests."`);
	for (const line of stdout.trimEnd().split("\n").filter(Boolean)) console.log(`  stdout     ${line}`);
	for (const line of stderr.trimEnd().split("\n").filter(Boolean)) console.log(`  stderr     ${line}`);
	const { requests } = pi.model;
	console.log(`  requests   ${requests.length} reached the model, ${pi.marks().length} tool calls ran`);
	const [, told] = requests.at(-1)?.texts("user") ?? [];
	if (told !== undefined) console.log(`  to model   ${told.split("\n")[0]}`);
	console.log(`  exit code  ${code}`);
}

async function askOverRpc(): Promise<void> {
	const pi = await host(scope, { model: endless(), env: { PI_MAX_TURNS: "3" } });
	const rpc = await pi.rpc({ answer: (_question, n) => n === 1 });
	await rpc.prompt("Tidy up the tests.");
	await rpc.settled();
	await ending;
	console.log("\n4. With somebody to ask, here a client over rpc that says yes once and then no.\n");
	rpc.questions.forEach(({ title, message = "" }, i) => {
		console.log(`  question   ${title}: ${message.replace("\n", "\n             ")}`);
		console.log(`  answer     ${i === 0 ? "yes" : "no"}`);
	});
	for (const { message } of rpc.notifications) console.log(`  told       ${message}`);
	console.log(`  requests   ${pi.model.requests.length} reached the model`);
	await rpc.close();
}

async function headless(): Promise<void> {
	console.log("pi-turn-limit on a real pi, with a scripted model that would work for ever.");
	await tell("1. A limit of 3 turns, and a model that does not stop by itself: it is stopped.", {
		model: endless(),
		env: { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0" },
	});
	await tell("2. The same with the wrap-up: two turns before the limit the model is told, and it obeys.", {
		model: (request) => (request.count("left in this run") > 0 ? text("Done: 3 files. Left: 2 files.") : mark()),
		env: { PI_MAX_TURNS: "5" },
	});
	await tell("3. The policy synthesize: one last answer, tools refused; a script can still tell.", {
		model: [...times(3), text("From what I have seen: 3 files need work.")],
		env: { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_POLICY: "synthesize" },
	});
	await askOverRpc();
	console.log("\nIn a terminal, npm start lets you answer the question yourself.");
}

/** What the model says to the person who watches, by how often it was told to wrap up since the last prompt. */
function narrate(request: Request): Reply {
	const isAdvice = (said: string): boolean => said.includes("left in this run");
	const said = request.texts("user");
	const told = said.length - 1 - said.findLastIndex((text) => !isAdvice(text));
	if (told > 1) {
		const words = "I was told to wrap up again, and this time I obey.";
		return text(`${words}\n\nNow try /turn-limit, /turn-limit 2, or send another message. Ctrl+D leaves.`);
	}
	const words = isAdvice(request.last)
		? "I was told to wrap up, as you can read above, but I go on. So the limit acts, and you are asked: wait a moment, then choose with the arrows and Enter. Escape stops."
		: told > 0
			? "A new round has begun, and the widget counts from 1 again."
			: "I would work for ever. Above your input the widget counts my turns.";
	return { ...text(words), ...mark() };
}

async function interactive(): Promise<void> {
	const model = async (request: Request): Promise<Reply> => {
		await pause(2000);
		return narrate(request);
	};
	const env = { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "1", TERM: process.env["TERM"] ?? "xterm-256color" };
	const pi = await host(scope, { model, env });
	await pi.attached("Work for ever.");
}

try {
	await (process.stdin.isTTY && process.stdout.isTTY ? interactive() : headless());
	await end(0);
} catch (error) {
	console.error(error);
	await end(1);
}
