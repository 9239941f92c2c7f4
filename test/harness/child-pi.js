/** Takes the place of pi's cli.js where a pi starts another one: `children.ts` runs it, and what it says is said here. */
import { connect } from "node:net";
import { createInterface } from "node:readline";

const { argv, env, stdin, stdout, stderr } = process;
const args = argv.slice(2);
const socket = connect(env["TEST_CHILDREN"] ?? "");
const say = (order) => socket.write(`${JSON.stringify(order)}\n`);

const input = args.includes("rpc");
say({ run: { args, cwd: process.cwd(), env, input } });
if (input) stdin.setEncoding("utf8").on("data", (text) => say({ input: text }));
if (input) stdin.on("end", () => say({}));

process.exitCode = 1;
createInterface({ input: socket }).on("line", (line) => {
	const said = JSON.parse(line);
	stdout.write(said.stdout ?? "");
	stderr.write(said.stderr ?? "");
	if (said.code === undefined) return;
	process.exitCode = said.code;
	stdin.destroy();
	socket.end();
});
