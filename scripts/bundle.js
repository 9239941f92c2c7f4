/**
 * Bundles what the package needs beside dist/: the extension as pi loads it. Pi compiles TypeScript at every first start
 * and imports file by file; one JavaScript module costs as much as an empty one.
 *
 *     node scripts/bundle.js         for `npm pack`: makes pi-turn-limit/*.js; what is not needed at the start are files of their own
 *     node scripts/bundle.js clean   removes them
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const project = fileURLToPath(new URL("..", import.meta.url));
const folder = join(project, "pi-turn-limit");

function clean() {
	for (const name of readdirSync(folder)) if (name.endsWith(".js")) rmSync(join(folder, name));
}

/**
 * Pi gives its own packages only to what it compiles itself, so the bundle holds a copy of what we use of pi-tui. That package
 * does not say that its modules have no side effects; without that the copy would be all of it.
 */
const pis = {
	name: "pi's packages",
	setup({ onResolve, resolve }) {
		onResolve({ filter: /./ }, async ({ path, pluginData, ...options }) => {
			if (pluginData === pis) return undefined;
			const isTui = path === "@earendil-works/pi-tui" || /@earendil-works[/\\]pi-tui[/\\]/.test(options.importer);
			if (isTui) return { ...(await resolve(path, { ...options, pluginData: pis })), sideEffects: false };
			if (!path.startsWith("@earendil-works/")) return undefined;
			return { errors: [{ text: `${path} cannot be imported from the package; its types can.` }] };
		});
	},
};

clean();
if (argv[2] !== "clean") {
	await build({
		absWorkingDir: project,
		entryPoints: [
			{ in: "src/hosts/pi/extension-bundle.ts", out: "index" },
			// A thread begins with a file of its own.
			{ in: "src/history/odds-worker.ts", out: "odds-worker" },
		],
		outdir: "pi-turn-limit",
		bundle: true,
		splitting: true,
		chunkNames: "[name]-[hash]",
		format: "esm",
		platform: "node",
		target: "node22.19",
		// An optional peer: who wants a fleet installs it.
		external: ["postgres"],
		plugins: [pis],
		logLevel: "warning",
	});
}
