import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, test } from "node:test";
import { FINAL_TURNS } from "../../src/core/gate.ts";
import { line as lineOf } from "../../src/core/outcome.ts";
import { finalPass, wrapUp } from "../../src/core/to-model.ts";
import { Driver, sum } from "../core/driver.ts";
import { kindOf, METER_IDS, type MeterId, RUN_METER_IDS } from "../../src/core/meters.ts";
import { mistakeIn, parseCommand as readCommand } from "../../src/hosts/pi/command/grammar.ts";
import { turnLimit } from "../../src/index.ts";
import { questionAbout } from "../../src/loop/question.ts";
import { OUTCOME_ENTRY } from "../../src/core/outcome.ts";
import { OUTCOME_EVENT } from "../../src/hosts/pi/outcome/report.ts";
import { pages as apiPages } from "../../scripts/api.ts";
import { newest } from "../../scripts/hosts.js";
import { png } from "../../scripts/png.ts";
import { docs, framesOf, textIn } from "./picture.ts";
import { defaults, type Key, KEY_OF, KEYS, meterOf, settingOf, SETTINGS } from "../../src/settings/settings.ts";

const root = resolve(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const readme = read("README.md");
const pages = readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md"));
const contributing = read("CONTRIBUTING.md");
const manifest = JSON.parse(read("package.json")) as { version: string; scripts: object; files: string[] };

const texts = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md", ...pages.map((page) => `docs/${page}`)];

type Row = Record<string, string>;

/** The rows of all tables: what stands below each heading. */
function records(text: string): Row[] {
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
		for (const line of lines) assert.ok(line.length <= 94, `${file}: ${line}`);
	}
});

for (const file of [...texts, "CHANGELOG.md"]) {
	test(`no table of ${file} has a row of more than 100 columns, or no heading`, () => {
		const rows = read(file).match(/^\|.*$/gm) ?? [];
		assert.deepEqual(
			rows.filter((row) => row.length > 100),
			[],
		);
		assert.doesNotMatch(read(file), /^\n\|[-|]+\n/m);
	});
}

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

/** Of each page that somebody is given to read; `bench/results.md` is made by the benchmark. */
const LENGTHS: Readonly<Record<string, number>> = { "README.md": 700, "CONTRIBUTING.md": 1_500 };

for (const file of [...texts, "CHANGELOG.md"]) {
	const most = LENGTHS[file] ?? 1_200;
	test(`${file} has at most ${most} words`, () => {
		assert.ok(words(read(file)) <= most, `${words(read(file))} words`);
	});
}

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

test("the README defines a turn as the glossary does", () => {
	const defined = /^## turn\n\n(.*?\.)/m.exec(read("docs/glossary.md"))?.[1] ?? "";
	assert.ok(readme.includes(`** is ${defined.charAt(0).toLowerCase()}${defined.slice(1)}`), defined);
});

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
	const tables = records(read("docs/settings.md")).filter((row) => "File" in row);
	const keys = [...new Set(tables.map(({ File }) => File?.replaceAll("`", "") as Key))];
	/** A setting's row: what its tables say together. */
	const rows = keys.map((key) => Object.assign({}, ...tables.filter(({ File }) => File === `\`${key}\``)) as Row);

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
	const named = /^## Options\n(.*?)^A limit is/ms.exec(read("docs/embedding.md"))?.[1] ?? "";
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

/** How much two colours differ, from 1 to 21, as the guidelines for accessible web pages define it. */
function contrast(...colours: [string, string]): number {
	const [low = 0, high = 0] = colours
		.map((hex) => {
			const parts = [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16) / 255);
			const [red = 0, green = 0, blue = 0] = parts.map((part) =>
				part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
			);
			return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
		})
		.sort((a, b) => a - b);
	return (high + 0.05) / (low + 0.05);
}

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

	test("no text is hard to read, in light and in dark", () => {
		for (const name of names) {
			const svg = read(`docs/${name}.svg`);
			const [dark, light] = svg
				.split("@media (prefers-color-scheme:light)")
				.map(
					(css) => new Map([...css.matchAll(/^\.(\w+)\{fill:(#\w+)/gm)].map(([, key = "", hex = ""]) => [key, hex])),
				);
			const plain = [...svg.matchAll(/<g id="\w+">(<text.*)<\/g>/g)].map(([, row = ""]) => row);
			const inks = new Set(plain.flatMap((row) => [...row.matchAll(/class="(c\d+)/g)].map(([, ink = ""]) => ink)));
			for (const ink of inks)
				for (const mode of [dark, light])
					assert.ok(contrast(mode?.get(ink) ?? "", mode?.get("paper") ?? "") > 3.5, `${name}: ${mode?.get(ink)}`);
		}
	});

	test("the picture for pi's gallery is that of the question, in pixels", async () => {
		const pixels = readFileSync(join(root, ".github/gallery.png"));
		assert.ok(pixels.equals(await png(read("docs/question.svg"))), "npm run pictures question makes it again");
	});

	test("show what is said today", () => {
		const flat = (text: string): string => text.replaceAll(/\s+/g, " ");
		const shows = (name: string, words: string): void =>
			assert.ok(flat(textIn(name)).includes(flat(words)), `${name}: ${words}`);
		for (const words of [asks, stops, ...choices.map(({ label }) => label)]) shows("question", words);
		for (const words of [asks, stops, "What should it know?"]) shows("tell", words);
		assert.match(textIn("yes"), /Turns: 1\/4/);
		shows("no", stopped);
		assert.match(textIn("widget"), /Turns: 3\/25 · Tools: \d\/200/);
		assert.match(textIn("question"), /^\s*Turns: 4\/4/);
		assert.match(textIn("suggestion"), /^\s*Suggestion\n/);
		assert.ok(textIn("advice").endsWith(textIn("suggestion")));
		shows("wrapped-up", finalPass({ meter: "turns", limit: 4 }));
		shows("wrap-up", wrapUp("turns", 2));
		for (const words of [/turns +█+░* +\d+ of 10 +PI_MAX_TURNS/, /of \$0\.25 \(0\.20 \+ 0\.05\)/, /Last run: /])
			assert.match(textIn("status"), words);
		assert.match(textIn("headless"), /pi-turn-limit: stopped at the limit of 4 turns \(PI_MAX_TURNS\)[^]*53\s*$/);
	});

	test("the film begins with the question, goes on after a yes, asks again, stops after a no, and counts anew", () => {
		const frames = framesOf("demo");
		let seen = -1;
		const counting = ["Turns: 1/4", "Turns: 2/4", "Turns: 3/4", "Turns: 4/4"];
		const question = "→ Continue (4 more turns)";
		assert.ok(frames[0]?.includes(asks));
		for (const words of [question, ...counting, asks, question, "→ Stop", stopped, ...counting]) {
			seen = frames.findIndex((frame, i) => i > seen && frame.includes(words));
			assert.notEqual(seen, -1, words);
		}
		for (const frame of frames) if (frame.includes(asks)) assert.ok(frame.includes(stops), stops);
		const svg = read("docs/demo.svg");
		assert.match(svg, /animation:film [\d.]+s step-end infinite/);
		assert.equal(svg.match(/%\{transform:/g)?.length, frames.length);
	});
});

/** The entries of a changelog, as the newest pi reads them to show what an update brings. */
async function entriesOf(path: string): Promise<{ readonly content: string }[]> {
	const { parseChangelog } = (await import(join(root, ".hosts", newest, "dist/utils/changelog.js"))) as {
		parseChangelog: (path: string) => { readonly content: string }[];
	};
	return parseChangelog(path);
}

test("what pi shows of the changelog after an update is this version's news in at most 12 short lines", async () => {
	const [{ content } = { content: "" }] = await entriesOf(join(root, "CHANGELOG.md"));
	const [heading = "", ...lines] = content.split("\n").filter((line) => line !== "");
	assert.ok(heading.startsWith(`## [${manifest.version}]`), heading);
	assert.ok(lines.length > 0 && lines.length <= 12, `${lines.length} lines`);
	for (const line of lines) assert.ok(line.length <= 110, line);
	assert.match(read("CHANGELOG.md"), new RegExp(`^## Details of ${manifest.version}$`, "m"));
});
