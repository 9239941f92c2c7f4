/** `/turn-limit`: what was typed, as data, and what can be typed, for completion. */
import { fromText, isCount } from "../core/limit.ts";
import { METER_IDS, type MeterId } from "../core/state.ts";
import { badArgument, COMPLETIONS } from "../core/wording.ts";
import { type Key, LIMIT_OF, SETTINGS, type Settings } from "../settings/settings.ts";

/** What stands before a value; turns need no word. */
const WORDS = { turns: "maxTurns", tools: "maxToolCalls", policy: "policy", grace: "grace" } as const;

type Settable = (typeof WORDS)[keyof typeof WORDS];

export type Command =
	| { readonly type: "status" }
	| { readonly type: "wrap_up" }
	| { readonly type: "set"; readonly key: Settable; readonly value: Settings[Settable] }
	| { readonly type: "raise"; readonly meter: MeterId; readonly by: number }
	| { readonly type: "invalid"; readonly message: string };

export function parse(args: string): Command {
	const [first = "", ...rest] = args.trim().split(/\s+/);
	if (first === "") return { type: "status" };
	if (first === "wrap-up" && rest.length === 0) return { type: "wrap_up" };
	const hasWord = Object.hasOwn(WORDS, first);
	const key = hasWord ? WORDS[first as keyof typeof WORDS] : "maxTurns";
	const text = (hasWord ? rest : [first, ...rest]).join(" ");
	const meter = meterOf(key);
	const by = text.startsWith("+") ? fromText(text.slice(1)) : undefined;
	if (meter !== undefined && isCount(by) && by > 0) return { type: "raise", meter, by };
	const value = fromText(text);
	if (SETTINGS[key].is(value)) return { type: "set", key, value };
	return { type: "invalid", message: badArgument(meter ?? (key as "policy" | "grace"), text) };
}

/** The meter that a setting limits, if it limits one. */
export function meterOf(key: Key): MeterId | undefined {
	return METER_IDS.find((id) => LIMIT_OF[id] === key);
}

/** For what stands behind `/turn-limit `. */
export function complete(prefix: string): { value: string; label: string; description: string }[] | null {
	const found = COMPLETIONS.filter(({ value }) => value.startsWith(prefix.trimStart()));
	return found.length === 0 ? null : found.map(({ value, description }) => ({ value, label: value, description }));
}
