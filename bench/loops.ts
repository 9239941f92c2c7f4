/** What does a turn cost in each loop, and how many bytes does each entry of the package add? */
import { relative } from "node:path";
import { gzipSync } from "node:zlib";
import { Agent } from "@earendil-works/pi-agent-core";
import { type Api, type Model, Type } from "@earendil-works/pi-ai";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { build, type Metafile } from "esbuild";
import { aiLimit } from "../src/hosts/ai/index.ts";
import { loopLimit } from "../src/hosts/loop/index.ts";
import { limitAgent } from "../src/hosts/pi-agent/index.ts";
import { root } from "../test/harness/index.ts";
import { calls, text } from "../test/harness/model.ts";
import { aiModel, piStream, ScriptedModel } from "../test/loops/model.ts";
import type { Part } from "./aims.ts";
import { interleave, median, spread, table } from "./figures.ts";
import { isShort } from "./scope.ts";

const ROUNDS = isShort ? 5 : 41;

/** In a run. More would measure how a loop copies its transcript. */
const TURNS = 40;

/** Of the processor, in a turn. A model takes seconds. */
const ENOUGH = 1;

const ENTRIES = {
	"pi-turn-limit": "src/index.ts",
	"pi-turn-limit/core": "src/core/index.ts",
	"pi-turn-limit/loop": "src/hosts/loop/index.ts",
	"pi-turn-limit/pi-agent": "src/hosts/pi-agent/index.ts",
	"pi-turn-limit/ai": "src/hosts/ai/index.ts",
};

export async function loops(): Promise<Part> {
	const pairs: Record<string, [alone: Played, limited: Played]> = {
		"a loop of one's own": [() => ownLoop(), () => ownLoop(loopLimit({ turns: TURNS }).start())],
		"pi's bare `Agent`": [() => piAgent(), () => piAgent((agent) => limitAgent(agent, { turns: TURNS }))],
		"`generateText`": [
			async () => await generateText({ ...aiCall(), stopWhen: isStepCount(TURNS) }),
			async () => await aiLimit({ turns: TURNS }).generateText(aiCall()),
		],
		"`streamText`": [
			async () => await streamText({ ...aiCall(), stopWhen: isStepCount(TURNS) }).consumeStream(),
			async () => await aiLimit({ turns: TURNS }).streamText(aiCall()).consumeStream(),
		],
	};
	const rows: string[][] = [];
	const added: number[] = [];
	for (const [name, [alone, limited]] of Object.entries(pairs)) {
		for (const play of [alone, limited]) for (let n = 0; n < 5; n++) await play();
		const costs = await interleave(ROUNDS, { alone: () => perTurn(alone), limited: () => perTurn(limited) });
		const more = (costs["limited"] ?? []).map((ms, i) => ms - (costs["alone"]?.[i] ?? NaN));
		added.push(median(more));
		rows.push([name, ...[costs["alone"] ?? [], costs["limited"] ?? [], more].map((ms) => spread(ms, 3))]);
	}
	const entries = await Promise.all(Object.entries(ENTRIES).map((entry) => bytes(...entry)));
	const most = Math.max(...added);
	return {
		text: `## Other loops

Milliseconds of the processor for a turn with one tool call, in runs of ${TURNS} turns with a model that answers at once; ${ROUNDS} rounds,
interleaved; medians, and between what the middle half lies. Alone: the loop without us, held to as many turns by its own means.

${table(["", "alone", "under a limit", "more"], rows)}

What each entry adds to a program, in KiB, bundled and minified by esbuild; the loops themselves and \`postgres\` are not in it.
*When used*: the ledgers of shared limits, and the reader of old sessions; they are loaded when they are first needed.

${table(["entry", "at start", "gzipped", "when used"], entries)}`,
		aims: [
			{
				aim: `A turn of another loop costs less than ${ENOUGH} ms of the processor more`,
				measured: `${most.toFixed(2)} ms`,
				isMet: most < ENOUGH,
				otherwise: "the gate decides twice in a turn and charges in between",
			},
		],
	};
}

type Played = () => Promise<unknown>;

/** Milliseconds of the processor. */
async function perTurn(play: Played): Promise<number> {
	const before = process.cpuUsage();
	await play();
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000 / TURNS;
}

/** Asks for a call in each turn, and answers in the last. */
function scripted(): ScriptedModel {
	return new ScriptedModel((n) => (n < TURNS ? calls({ name: "noop", args: { n } }) : text("done")));
}

async function ownLoop(run?: ReturnType<ReturnType<typeof loopLimit>["start"]>): Promise<void> {
	const model = scripted();
	const texts = ["go"];
	for (;;) {
		const notes = run ? await run.turn() : [];
		if (notes === undefined) break;
		const { text, calls = [] } = await model.reply([...texts, ...notes]);
		await run?.charge({ tokens: 550 });
		for (const [i, { name, args }] of calls.entries())
			texts.push((await run?.call({ tool: name, input: args }, model.id(i))) ?? "ok");
		if (text !== undefined) texts.push(text);
		const next = run ? await run.endTurn({ goesOn: calls.length > 0 }) : calls.length > 0 ? "go_on" : "stop";
		if (next === "stop") break;
	}
	await run?.settle();
}

const MODEL = { id: "m", api: "a", provider: "p", input: ["text"], contextWindow: 1e6 } as unknown as Model<Api>;

async function piAgent(limit: (agent: Agent) => unknown = () => undefined): Promise<void> {
	const noop = {
		...{ name: "noop", label: "noop", description: "Does nothing." },
		parameters: Type.Object({}, { additionalProperties: true }),
		execute: () => Promise.resolve({ content: [{ type: "text" as const, text: "ok" }], details: undefined }),
	};
	const agent = new Agent({ initialState: { model: MODEL, tools: [noop] }, streamFn: piStream(scripted()) });
	limit(agent);
	await agent.prompt("go");
}

function aiCall() {
	const noop = tool({ inputSchema: jsonSchema<object>({ type: "object" }), execute: () => "ok" });
	return { model: aiModel(scripted()), prompt: "go", tools: { noop }, maxRetries: 0 };
}

/** KiB of one entry: what it brings at once, the same gzipped, and what it can load later. */
async function bytes(name: string, file: string): Promise<string[]> {
	const { outputFiles, metafile } = await build({
		...{ entryPoints: { entry: file }, bundle: true, minify: true, splitting: true, write: false, metafile: true },
		...{ format: "esm", platform: "node", outdir: "out", absWorkingDir: root },
		external: ["ai", "postgres", "@earendil-works/*"],
	});
	const first = reached(metafile, "out/entry.js");
	const isFirst = (path: string): boolean => first.has(relative(root, path));
	const size = (wanted: boolean, count = (file: Uint8Array) => file.length): string => {
		const files = outputFiles.filter(({ path }) => isFirst(path) === wanted);
		return (files.reduce((sum, { contents }) => sum + count(contents), 0) / 1024).toFixed(1);
	};
	return [`\`${name}\``, size(true), size(true, (file) => gzipSync(file).length), size(false)];
}

/** The outputs that one imports statically, itself included. */
function reached({ outputs }: Metafile, first: string, seen = new Set<string>()): Set<string> {
	seen.add(first);
	for (const { path, kind } of outputs[first]?.imports ?? [])
		if (kind === "import-statement" && path in outputs && !seen.has(path)) reached({ inputs: {}, outputs }, path, seen);
	return seen;
}
