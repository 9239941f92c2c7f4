/** Writes `schema.json` from the settings: `node scripts/schema.ts`. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { PERIODS } from "../src/core/scopes.ts";
import { defaults, type Key, KEYS, type Setting, SETTINGS } from "../src/settings/settings.ts";

export const FILE = new URL("../schema.json", import.meta.url);

/** The schema as a text that prettier leaves alone. */
export async function text(): Promise<string> {
	const path = fileURLToPath(FILE);
	return await format(JSON.stringify(schema()), { ...(await resolveConfig(path)), filepath: path });
}

function schema(): object {
	const properties: Record<string, object> = {};
	for (const key of KEYS) {
		const [name, inner] = key.split(".") as [string, string?];
		properties[name] = inner === undefined ? property(key) : withInner(properties[name], name, inner, property(key));
	}
	return {
		$schema: "http://json-schema.org/draft-07/schema#",
		title: "pi-turn-limit",
		description:
			"Limits on what a run of the pi coding agent may spend: turn-limit.json in pi's agent directory for you, or .pi/turn-limit.json in a project. A project's file can only lower what your own file or the default gives.",
		type: "object",
		additionalProperties: false,
		properties: {
			$schema: { type: "string", description: "Where this schema is: editors complete and check the file with it." },
			...properties,
			budget: budget(properties["budget"]),
		},
	};
}

function withInner(outer: object | undefined, scope: string, name: string, inner: object): object {
	const { properties } = (outer ?? { properties: {} }) as { properties: object };
	const description = `Limits for a whole ${scope}.`;
	return { description, type: "object", additionalProperties: false, properties: { ...properties, [name]: inner } };
}

/** A fleet's: an address, an account, and caps, which each day, week and month can have too. */
function budget(caps: object | undefined): object {
	const { properties } = caps as { properties: object };
	return {
		description: "One budget for agents on many machines. Not for a project's file.",
		type: "object",
		additionalProperties: false,
		properties: {
			at: {
				type: "string",
				description: "postgres://user:password@host/database. Nobody else may be able to read the file.",
			},
			account: { type: "string", description: "The name of the budget." },
			zone: {
				type: "string",
				description: "The time zone of its days, weeks and months, such as Europe/Berlin.",
				default: "UTC",
			},
			...properties,
			...Object.fromEntries(
				PERIODS.toReversed().map((period) => [
					period,
					{
						description: `Caps for each calendar ${period}.`,
						type: "object",
						additionalProperties: false,
						properties,
					},
				]),
			),
		},
	};
}

function property(key: Key): object {
	const { about, schema, write } = SETTINGS[key] as Setting<unknown>;
	const [value, alone] = [defaults(true), defaults(false)].map((settings) => JSON.stringify(write(settings[key])));
	// A default that depends on who is there, or that is our own text, stands in the description.
	const isFixed = value === alone && value !== '""';
	return { description: about, ...schema, ...(isFixed ? { default: JSON.parse(value ?? "null") as unknown } : {}) };
}

if (import.meta.main) writeFileSync(FILE, await text());
