import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/** The extension, with every handler of it timed; `spent` is told the milliseconds. */
export function timed(extension: (pi: ExtensionAPI) => void, spent: (ms: number) => void): (pi: ExtensionAPI) => void {
	return (pi) => {
		const on = (name: "turn_start", handler: (...args: unknown[]) => unknown): (() => void) =>
			pi.on(name, async (...args) => {
				const start = performance.now();
				try {
					return (await handler(...args)) as undefined;
				} finally {
					spent(performance.now() - start);
				}
			});
		extension(Object.assign(Object.create(pi) as ExtensionAPI, { on }));
	};
}
