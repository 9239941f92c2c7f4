/** A pi that another pi starts, by `child-pi.js`: it too runs in a process which has run another one before. */
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cli, type Started } from "./process.ts";
import { agentDir, canReuse, Reused } from "./warm.ts";

/** An agent starts another one with this file, in place of pi's cli.js. */
export const childCli = canReuse ? join(import.meta.dirname, "child-pi.js") : cli;

/** A message of `child-pi.js`. */
interface Order {
	readonly run?: Started;
	readonly input?: string;
}

let path: string | undefined;

/** The variables by which `child-pi.js` finds this process. */
export function childVariables(): Record<string, string> {
	if (!canReuse) return {};
	if (path === undefined) {
		path = join(agentDir, "children");
		createServer(serve).listen(path).unref();
	}
	return { TEST_CHILDREN: path, TEST_CHILD_CLI: childCli };
}

function serve(socket: Socket): void {
	let child: Reused | undefined;
	let end = (): unknown => undefined;
	const say = (said: object): unknown => socket.write(`${JSON.stringify(said)}\n`);
	// The agent that has started it may end it.
	socket.on("error", () => {}).on("close", () => void end());
	createInterface({ input: socket }).on("line", (line) => {
		const { run, input } = JSON.parse(line) as Order;
		if (input !== undefined) return child?.write(input);
		if (!run) return child?.closeInput();
		child = new Reused({ after: (undo) => (end = undo) }, run);
		child.onOutput((stdout) => say({ stdout }));
		child.ended().then(
			({ stderr, code }) => say({ stderr, code: code ?? 1 }),
			() => socket.destroy(),
		);
	});
}
