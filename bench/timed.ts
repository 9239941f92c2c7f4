import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export type Extension = (pi: ExtensionAPI) => unknown;

/** The extension, with every handler of it timed; `spent` gets the milliseconds, those of the timing included. */
export function timed(extension: Extension, spent: (ms: number) => void): Extension {
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
		return extension(Object.assign(Object.create(pi) as ExtensionAPI, { on }));
	};
}

/** Listens to events and does nothing. */
export function listener(names: readonly string[]): Extension {
	return (pi) => {
		for (const name of names) pi.on(name as "turn_start", () => {});
	};
}

/** The events that an extension listens to from the start. */
export async function listened(extension: Extension): Promise<string[]> {
	const names: string[] = [];
	const nothing = (): unknown => undefined;
	const pi = new Proxy(
		{ on: (name: string) => names.push(name), events: { on: () => nothing, emit: nothing } },
		{
			get: (target, member) => (member in target ? target[member as keyof typeof target] : nothing),
		},
	);
	await extension(pi as unknown as ExtensionAPI);
	return names;
}
