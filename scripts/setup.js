// Sets the project up if it is not: `npm ci` from the lock file. Runs on the machine's own Node, with nothing installed.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const stamp = "node_modules/.set-up";
const lock = readFileSync("package-lock.json", "utf8");

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== lock) {
	console.error("Setting up: npm ci");
	const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
		stdio: ["ignore", 2, 2],
		shell: process.platform === "win32",
	});
	if (status !== 0) process.exit(status ?? 1);
	writeFileSync(stamp, lock);
}
