import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, test } from "node:test";
import { FINAL_TURNS } from "../../src/core/gate.ts";
import { line as lineOf } from "../../src/core/outcome.ts";
import { finalPass, wrapUp } from "../../src/core/to-model.ts";
import { Driver, sum } from "../core/driver.ts";
import { kindOf, METER_IDS, type MeterId, RUN_METER_IDS } from "../../src/core/meters.ts";
import { mistakeIn, read as readCommand } from "../../src/hosts/pi/command/grammar.ts";
import { turnLimit } from "../../src/index.ts";
import { questionAbout } from "../../src/loop/question.ts";
import { OUTCOME_ENTRY, OUTCOME_EVENT } from "../../src/hosts/pi/outcome/report.ts";
import { pages as apiPages } from "../../scripts/api.ts";
import { docs, framesOf, textIn } from "./picture.ts";
import { defaults, type Key, KEY_OF, KEYS, meterOf, settingOf, SETTINGS } from "../../src/settings/settings.ts";

const root = resolve(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const readme = read("README.md");
const pages = readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md"));
const contributing = read("CONTRIBUTING.md");
const manifest = JSON.parse(read("package.json")) as { version: string; scripts: object; files: string[] };

const texts = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md", ...pages.map((page) => `docs/${page}`)];

/** The rows of all tables: what stands below each heading. */
function records(text: string): Record<string, string>[] {
	const cells = (line: string): string[] =>
		line
			.split("|")
			.slice(1, -1)
			.map((cell) => cell.trim());
	return [...text.matchAll(/^(\|.*)\n\|[-|]+\n((?:\|.*\n)+)/gm)].flatMap(([, head = "", body = ""]) => {
		const names = cells(head);
		const lines = body.trimEnd().split("\n");
		return lines.map((line) =>
			Object.fromEntries(cells(line).map((cell, i): [string, string] => [names[i] ?? "", cell])),
		);
	});
}

for (const file of texts) {
	test(`every link of ${file} within the repository leads somewhere`, () => {
		const links = [...read(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
		for (const link of links.filter((link) => !link.startsWith("https:"))) {
			const [path = "", place] = link.split("#");
			const target = path === "" ? join(root, file) : join(root, dirname(file), path);
			assert.ok(existsSync(target), link);
			if (place !== undefined) assert.ok(places(readFileSync(target, "utf8")).includes(place), link);
		}
	});
}

test("what stands in a code block fits the width of a page", () => {
	for (const file of texts) {
		const lines = [...read(file).matchAll(/^```\w*\n([^]*?)^```$/gm)].flatMap(([, code = ""]) => code.split("\n"));
		for (const line of lines) assert.ok(line.length <= 110, `${file}: ${line}`);
	}
});

/** The names by which a link finds the headings of a page. */
function places(text: string): string[] {
	return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
		heading
			.toLowerCase()
			.replaceAll(/[^\w\s-]/g, "")
			.replaceAll(" ", "-"),
	);
}

function words(text: string): number {
	return text.trim().split(/\s+/).length;
}

for (const [file, most] of [
	["README.md", 700],
	["CONTRIBUTING.md", 1500],
] as const) {
	test(`${file} has at most ${most} words`, () => {
		assert.ok(words(read(file)) <= most, `${words(read(file))} words`);
	});
}

test("no page of the manual has more than 1,200 words", () => {
	const long = pages.filter((page) => words(read(`docs/${page}`)) > 1_200);
	assert.deepEqual(long, []);
});

test("the README links every page of the manual", () => {
	for (const page of pages) assert.ok(readme.includes(`](docs/${page})`), page);
});

test("the README's limits are the table of meters: commands that are understood, defaults that hold", () => {
	const rows = records(readme).map(({ "`/turn-limit …`": command = "", Default: fallback }) => {
		const { key, text } = readCommand(command.replaceAll("`", ""));
		assert.notEqual(SETTINGS[key].read(SETTINGS[key].parse(text)), undefined, command);
		return [meterOf(key), fallback];
	});
	const shown = (id: MeterId): string => {
		const [alone, attended] = [false, true].map((person) => settingOf(KEY_OF[id]).show(defaults(person)[KEY_OF[id]]));
		return alone === attended ? String(alone) : `${attended}; ${alone} without a person`;
	};
	for (const [id, fallback] of rows) assert.equal(fallback, shown(id as MeterId), id);
	// A fleet's budget has a page of its own.
	const scopes = new Set(METER_IDS.map((id) => kindOf(id).scope).filter((scope) => scope !== "fleet"));
	const named = rows.map(([id]) => kindOf(id as MeterId));
	assert.deepEqual(new Set(named.map(({ scope }) => scope)), scopes);
	assert.deepEqual(
		named.filter(({ scope }) => scope === "round").map(({ of }) => of),
		[...RUN_METER_IDS],
	);
});

for (const file of ["README.md", "CONTRIBUTING.md", "AGENTS.md"]) {
	test(`every npm script that ${file} names is there`, () => {
		const scripts = [...read(file).matchAll(/npm (?:run )?(start|test|(?<=run )[\w:]+)/g)].map(([, name = ""]) => name);
		assert.ok(scripts.length > 0);
		for (const name of scripts) assert.ok(Object.hasOwn(manifest.scripts, name), name);
	});
}

test("the README names the two commands of a clone", () => {
	for (const command of ["npm start", "npm test"]) assert.ok(readme.includes(`\`${command}\``), command);
});

test("every path that CONTRIBUTING names is there", () => {
	const paths = [...contributing.matchAll(/`((?:src|test|scripts|spec|sql|bench)\/[\w./-]+)`/g)].map(
		([, path = ""]) => path,
	);
	assert.ok(paths.length > 10);
	for (const path of paths) assert.ok(existsSync(join(root, path)), path);
});

describe("the settings tables of the manual", () => {
	const rows = records(read("docs/settings.md")).filter((row) => "File" in row);
	const keys = rows.map(({ File }) => File?.replaceAll("`", "") as Key);

	test("have every setting and no other", () => {
		const others = KEYS.filter((key) => !key.startsWith("budget."));
		assert.deepEqual([...keys].sort(), [...others].sort());
	});

	test("name the flags and variables that there are", () => {
		const quoted = (name?: string): string => (name === undefined ? "" : `\`${name}\``);
		for (const [i, { Flag = "", Environment }] of rows.entries()) {
			const { flag, env } = settingOf(keys[i] as Key);
			assert.deepEqual([Flag, Environment], [quoted(flag && `--${flag}`), quoted(env)]);
		}
	});

	test("give the defaults that hold", () => {
		const show = (key: Key, attended: boolean): string => settingOf(key).show(defaults(attended)[key]);
		for (const [i, { Default = "unlimited" }] of rows.entries()) {
			const key = keys[i] as Key;
			const [alone, attended] = [show(key, false), show(key, true)];
			const expected = alone === attended ? alone : `${alone}, or ${attended} with a person`;
			assert.equal(Default, key === "wrapUpMessage" ? "built in" : expected);
		}
	});

	test("give commands that are understood", () => {
		const commands = rows.flatMap(({ "`/turn-limit …`": command = "" }) =>
			[...command.matchAll(/`([^`]+)`/g)].map(([, words = ""]) => words),
		);
		assert.ok(commands.length > 6);
		for (const words of commands) assert.equal(mistakeIn(readCommand(words)), undefined);
	});
});

test("the manual names the options that the library knows", () => {
	const named = /^Options: (.*?)\. A wrong one/m.exec(read("docs/embedding.md"))?.[1] ?? "";
	const names = [...named.matchAll(/`([a-z]\w+)`/gi)].map(([, name = ""]) => name);
	const known = /Known options: (.*)\.$/.exec(message(() => turnLimit({ turn: 1 } as object)))?.[1]?.split(", ") ?? [];
	assert.deepEqual(names.sort(), known.sort());
});

test("the API pages are what the sources declare; node scripts/api.ts writes them", async () => {
	for (const [page, text] of await apiPages()) assert.equal(read(page), text, page);
});

function message(fails: () => unknown): string {
	try {
		return String(fails());
	} catch (error) {
		return (error as Error).message;
	}
}

test("what the manual quotes is what is said", () => {
	const [edges, scripts] = [read("docs/edges.md"), read("docs/scripts.md")];
	const run = new Driver({ turns: 25, attended: true }).prompt();
	run.turns(25);
	const { title, message } = questionAbout(run.state, "turns", String);
	for (const quoted of [
		title,
		message.split("\n")[0] ?? "",
		"You stopped the run at the turn limit. Send a message to go on.",
		"Turn limit reached; nobody answered.",
	]) {
		assert.ok(edges.includes(`\`${quoted}\``), quoted);
	}
	const spent = sum({ turns: 41, toolCalls: 52, cost: 810_000 });
	const line = lineOf({ ...spent, kind: "synthesized", meter: "turns", limit: 40 }, () => "--turn-limit");
	assert.ok(scripts.includes(`\`${line}\`\n`), line);
	for (const name of [OUTCOME_EVENT, OUTCOME_ENTRY]) assert.ok(scripts.includes(`\`${name}\``), name);
	assert.ok(edges.includes(`After ${FINAL_TURNS} turns without an answer`));
});

describe("the pictures", () => {
	const names = readdirSync(docs).flatMap((file) => /^(.*)\.svg$/.exec(file)?.[1] ?? []);
	const run = new Driver({ turns: 4, attended: true }).prompt();
	run.turns(4);
	const { title, message, lines, choices } = questionAbout(run.state, "turns", String);
	const asks = `${title}\n ${message.split("\n")[0]}`;
	const stops = lines.at(-1)!;
	const stopped = "You stopped the run at the turn limit. Send a message to go on.";

	for (const name of names) {
		const svg = read(`docs/${name}.svg`);

		test(`${name}.svg is used, small, and has no script and no path of a machine`, () => {
			const texts = [readme, ...pages.map((page) => read(`docs/${page}`))];
			assert.ok(texts.some((text) => new RegExp(`\\]\\((docs/)?${name}\\.svg\\)`).test(text)));
			assert.ok(svg.length < 200_000);
			assert.doesNotMatch(svg, /<script|\/tmp\/|\/home\//);
		});

		test(`${name}.svg has each of its colours in light and in dark`, () => {
			const [dark = "", light = ""] = svg.split("@media (prefers-color-scheme:light)");
			const classes = (css: string) => [...css.matchAll(/^\.(\w+)\{fill:#/gm)].map(([, name]) => name);
			assert.ok(classes(dark).length > 1);
			assert.deepEqual(classes(light), classes(dark));
			const used = [...svg.matchAll(/class="(c\d+)/g)].map(([, name]) => name);
			assert.deepEqual(new Set(used), new Set(classes(dark).filter((name) => name !== "paper")));
		});
	}

	test("show what is said today", () => {
		const flat = (text: string): string => text.replaceAll(/\s+/g, " ");
		const shows = (name: string, words: string): void =>
			assert.ok(flat(textIn(name)).includes(flat(words)), `${name}: ${words}`);
		for (const words of [asks, stops, ...choices.map(({ label }) => label)]) shows("question", words);
		for (const words of [asks, stops, "What should it know?"]) shows("tell", words);
		assert.match(textIn("yes"), /Turns: 1\/4/);
		shows("no", stopped);
		assert.match(textIn("widget"), /Turns: 3\/25 · Tools: \d\/200/);
		assert.ok(textIn("advice").endsWith(textIn("suggestion")));
		shows("wrapped-up", finalPass({ meter: "turns", limit: 4 }));
		shows("wrap-up", wrapUp("turns", 2));
		for (const words of [/turns +█+░* +\d+ of 10 +PI_MAX_TURNS/, /of \$0\.25 \(0\.20 \+ 0\.05\)/, /Last run: /])
			assert.match(textIn("status"), words);
		assert.match(textIn("headless"), /pi-turn-limit: stopped at the limit of 4 turns \(PI_MAX_TURNS\)[^]*53\s*$/);
	});

	test("the film counts, asks, goes on after a yes, asks again and stops after a no, over and over", () => {
		const frames = framesOf("demo");
		let seen = -1;
		const counting = ["Turns: 1/4", "Turns: 2/4", "Turns: 3/4", "Turns: 4/4", asks, "→ Continue (4 more turns)"];
		for (const words of [...counting, ...counting, "→ Stop", stopped]) {
			seen = frames.findIndex((frame, i) => i > seen && frame.includes(words));
			assert.notEqual(seen, -1, words);
		}
		assert.match(frames[0] ?? "", /Turn limit set to 4\.[^]*Turns: 1\/4/);
		assert.equal(seen, frames.length - 1);
		for (const frame of frames) if (frame.includes(asks)) assert.ok(frame.includes(stops), stops);
		const svg = read("docs/demo.svg");
		assert.match(svg, /animation:film [\d.]+s step-end infinite/);
		assert.equal(svg.match(/%\{transform:/g)?.length, frames.length);
	});
});

test("the changelog has a heading for this version, as pi looks for it", () => {
	assert.match(read("CHANGELOG.md"), new RegExp(`^## \\[${manifest.version.replaceAll(".", "\\.")}\\]`, "m"));
});

test("the newest entry of the changelog is at most 12 short lines, with the rest under Details", () => {
	const [, newest = ""] = read("CHANGELOG.md").split(/^## .*$/m);
	const [short = "", details] = newest.split(/^### Details$/m);
	const lines = short.split("\n").filter((line) => line !== "");
	assert.ok(lines.length > 0 && lines.length <= 12, `${lines.length} lines`);
	for (const line of lines) assert.ok(line.length <= 110, line);
	assert.notEqual(details, undefined);
});
