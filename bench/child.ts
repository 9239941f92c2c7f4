import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Cost, Order } from "./long-session.ts";

/** One long run in a process of its own. */
export async function longSession(order: Order): Promise<Cost> {
	const script = fileURLToPath(import.meta.resolve("./long-session.ts"));
	const args = ["--expose-gc", script, JSON.stringify(order)];
	const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1e8 });
	return JSON.parse(stdout) as Cost;
}
