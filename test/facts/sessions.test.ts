import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { endless, held, reloader, text } from "../harness/index.ts";
import { during } from "../harness/scenes.ts";
import { bare, said } from "./bare.ts";

const chatty = { model: endless(text("done")), session: true };

// Copies and reloads

test("pi.events runs handlers at once, those of other extensions too", async (t) => {
	const answers = (pi: ExtensionAPI): void => {
		pi.events.on("knock", (visit) => ((visit as { answered: boolean }).answered = true));
	};
	const knocks = (pi: ExtensionAPI): void => {
		const visit = { answered: false };
		pi.events.emit("knock", visit);
		pi.on("session_start", () => console.error(visit.answered));
		console.error(visit.answered);
	};
	assert.deepEqual(await said(t, [answers, knocks]), ["true", "true"]);
	assert.deepEqual(await said(t, [knocks, answers]), ["false", "false"]);
});

/** Says when it is loaded and when its session starts whether there is a theme, and then whether it is another one. */
function looks(pi: ExtensionAPI): void {
	const key = Symbol.for("@earendil-works/pi-coding-agent:theme");
	const slot = globalThis as { [key]?: unknown };
	const loaded = slot[key];
	const line = (): string => `${loaded !== undefined} ${slot[key] !== undefined && slot[key] !== loaded}`;
	pi.on("session_start", (_event, { ui }) => (console.error(line()), ui.notify(line())));
}

const themeMaker = join(import.meta.dirname, "../company/theme-maker.ts");

for (const [others, wasThere] of [
	[[], false],
	[[themeMaker], true],
] as const) {
	test(`pi makes a theme between loading extensions and starting its session, ${wasThere ? "also if there is one" : "and not before"}`, async (t) => {
		const line = `${wasThere} true`;
		assert.deepEqual(await said(t, [...others, looks]), [line]);
		const pi = await bare(t, [...others, looks]);
		assert.match((await pi.json("go")).stderr, new RegExp(`^${line}$`, "m"));
		assert.equal((await pi.rpc()).notifications[0]?.message, line);
	});
}

test("a session that an extension opens in pi's process gets no theme and no built-in extensions", async (t) => {
	const opens = join(import.meta.dirname, "opens-session.ts");
	assert.deepEqual(await said(t, opens, { discovers: true }), ["true false", "built-in: false"]);
});

const says = join(import.meta.dirname, "built-in.ts");

test("pi's command line gives its sessions built-in extensions, also after a reload and a new session", async (t) => {
	const pi = await bare(t, [says, reloader], { discovers: true });
	assert.match((await pi.print("go")).stderr, /^built-in: true$/m);
	const rpc = await pi.rpc();
	await rpc.prompt("/reload-now");
	await rpc.newSession();
	const lines = (await rpc.close()).stderr.match(/^built-in: .*$/gm);
	assert.deepEqual([...new Set(lines)], ["built-in: true"]);
});

test("pi makes its session before it loads extensions", async (t) => {
	const compares = (pi: ExtensionAPI): void => {
		const loaded = Date.now();
		pi.on("session_start", (_event, { sessionManager }) => {
			console.error(Date.parse(sessionManager.getHeader()?.timestamp ?? "") < loaded);
		});
	};
	assert.deepEqual(await said(t, compares), ["true"]);
});

test("a reload in the middle of a run makes a new instance, which sees the rest of the run without an agent_start", async (t) => {
	const counts = (pi: ExtensionAPI): void => {
		const slot = globalThis as { instances?: number };
		const n = (slot.instances = (slot.instances ?? 0) + 1);
		for (const name of ["session_start", "session_shutdown", "agent_start", "turn_end", "agent_settled"] as const) {
			pi.on(name as "session_start", ({ reason }, ctx) => ctx.ui.notify(`${n} ${name} ${reason}`));
		}
		pi.registerCommand("reload-now", { handler: (_args, ctx) => ctx.reload() });
	};
	const options = { extension: false, after: [counts], model: endless(text("done")) };
	const { rpc } = await during(t, 1, (rpc) => rpc.prompt("/reload-now"), options);
	assert.deepEqual(
		rpc.notifications.map(({ message }) => message),
		[
			...["1 session_start startup", "1 agent_start undefined", "1 session_shutdown reload"],
			...["2 session_start reload", "2 turn_end undefined", "2 agent_settled undefined"],
		],
	);
});

test("while a reload is under way the events of the run reach the old instance", async (t) => {
	const lingers = (pi: ExtensionAPI): void => {
		const slot = globalThis as { instances?: number };
		const n = (slot.instances = (slot.instances ?? 0) + 1);
		const turnEnded = new Promise<void>((ended) => {
			pi.on("turn_end", (_event, ctx) => {
				ctx.ui.notify(`${n} turn_end`);
				ended();
			});
		});
		pi.on("session_shutdown", async (_event, ctx) => {
			ctx.ui.notify(`${n} leaves`);
			if (n === 1) await turnEnded;
		});
	};
	const slow = held(text("done"));
	const pi = await bare(t, [lingers, reloader], { model: [slow] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await pi.model.arrival(1);
	const reloaded = rpc.send({ type: "prompt", message: "/reload-now" });
	await rpc.until("shutdown", () => rpc.notifications.length > 0);
	slow.release();
	await reloaded;
	assert.deepEqual(
		rpc.notifications.map(({ message }) => message),
		["1 leaves", "1 turn_end"],
	);
});

test("a new session makes a new instance in the same process, and its session_start may come twice", async (t) => {
	const counts = (pi: ExtensionAPI): void => {
		const slot = globalThis as { instances?: number };
		const n = (slot.instances = (slot.instances ?? 0) + 1);
		pi.on("session_start", ({ reason }) => console.error(n, "session_start", reason));
		pi.on("session_shutdown", ({ reason }) => console.error(n, "session_shutdown", reason));
	};
	const pi = await bare(t, counts);
	const rpc = await pi.rpc();
	await rpc.newSession();
	const lines = (await rpc.close()).stderr.trimEnd().split("\n");
	assert.deepEqual(
		[...new Set(lines)],
		["1 session_start startup", "1 session_shutdown new", "2 session_start new", "2 session_shutdown quit"],
	);
});

test("sessions have ids, each its own, and a reload keeps it", async (t) => {
	const tells = (pi: ExtensionAPI): void => {
		pi.on("session_start", (_event, ctx) => ctx.ui.notify(ctx.sessionManager.getSessionId()));
	};
	const pi = await bare(t, [tells, reloader]);
	const rpc = await pi.rpc();
	await rpc.prompt("/reload-now");
	const [first, reloaded] = rpc.notifications.map(({ message }) => message);
	await rpc.newSession();
	const other = rpc.notifications.at(-1)?.message;
	assert.equal(reloaded, first);
	assert.notEqual(other, first);
});

// Entries

/** `/note text` leaves an entry, also when the session ends; `/notes` tells those of the active branch. */
function notes(pi: ExtensionAPI): void {
	pi.registerCommand("note", { handler: (text) => Promise.resolve(pi.appendEntry("note", text)) });
	pi.registerCommand("notes", {
		handler: (_args, ctx) => {
			const branch = ctx.sessionManager.getBranch();
			const found = branch.flatMap((entry) => (entry.type === "custom" ? [String(entry.data)] : []));
			return Promise.resolve(ctx.ui.notify(found.join(", ")));
		},
	});
	pi.registerCommand("go-to", {
		handler: async (id, ctx) => {
			await ctx.navigateTree(id);
		},
	});
	pi.on("session_shutdown", () => pi.appendEntry("note", "goodbye"));
	pi.on("session_tree", (_event, ctx) => ctx.ui.notify("moved"));
}

test("appendEntry works when idle and in session_shutdown, and a resumed session has what was appended", async (t) => {
	const pi = await bare(t, notes, chatty);
	const first = await pi.rpc();
	await first.run("go");
	await first.prompt("/note hello");
	await first.close();
	const second = await pi.rpc({ args: ["--continue"] });
	await second.prompt("/notes");
	assert.equal(second.notifications[0]?.message, "hello, goodbye");
});

test("navigation fires session_tree, and getBranch leaves abandoned branches out", async (t) => {
	const pi = await bare(t, notes, chatty);
	const rpc = await pi.rpc();
	await rpc.prompt("/note one");
	await rpc.run("go");
	const { leafId } = (await rpc.send({ type: "get_entries" })) as { leafId: string };
	await rpc.prompt("/note two");
	await rpc.prompt("/notes");
	await rpc.prompt(`/go-to ${leafId}`);
	await rpc.prompt("/notes");
	assert.deepEqual(
		rpc.notifications.map(({ message }) => message),
		["one, two", "moved", "one"],
	);
});

test("a fork keeps the entries before it, and only those", async (t) => {
	const pi = await bare(t, notes, chatty);
	const rpc = await pi.rpc();
	await rpc.run("go");
	await rpc.prompt("/note one");
	await rpc.run("again");
	await rpc.prompt("/note two");
	const { messages } = (await rpc.send({ type: "get_fork_messages" })) as { messages: { entryId: string }[] };
	await rpc.send({ type: "fork", entryId: messages[1]?.entryId });
	await rpc.prompt("/notes");
	assert.equal(rpc.notifications.at(-1)?.message, "one");
});

test("an appended entry appears in the json stream", async (t) => {
	const appends = (pi: ExtensionAPI): void => void pi.on("agent_settled", () => pi.appendEntry("note", "hello"));
	const pi = await bare(t, appends);
	const { events } = await pi.json("go");
	const entries = events.flatMap(({ type, entry }) => (type === "entry_appended" ? [entry] : []));
	assert.deepEqual(
		entries.map((entry) => [(entry as { customType?: string }).customType, (entry as { data?: unknown }).data]),
		[["note", "hello"]],
	);
});

// Settings

/** Tells the value of `--pace`, as it is loaded and when the session starts. */
function paced(pi: ExtensionAPI): void {
	pi.registerFlag("pace", { type: "string", description: "How fast" });
	console.error("loaded", pi.getFlag("pace"));
	pi.on("session_start", () => console.error("started", JSON.stringify(pi.getFlag("pace"))));
}

for (const [args, value] of [
	[[], "undefined"],
	[["--pace", "slow"], '"slow"'],
	[["--pace=slow"], '"slow"'],
	[["--pace="], '""'],
] as const) {
	test(`a flag given as [${args.join(" ")}] is there from session_start on: ${value}`, async (t) => {
		assert.deepEqual(await said(t, paced, { args }), ["loaded undefined", `started ${value}`]);
	});
}

for (const [args, files, trusted] of [
	[[], { ".pi/turn-limit.json": {} }, true],
	[["--no-approve"], { ".pi/turn-limit.json": {} }, false],
	[[], { ".pi/settings.json": {} }, false],
	[["--approve"], { ".pi/settings.json": {} }, true],
] as const) {
	const named = [...Object.keys(files), ...args].join(" ");
	test(`a folder with ${named} is ${trusted ? "" : "not "}trusted without a question`, async (t) => {
		const tells = (pi: ExtensionAPI): void => {
			pi.on("session_start", (_event, ctx) => console.error(ctx.isProjectTrusted()));
		};
		assert.deepEqual(await said(t, tells, { args, files }), [String(trusted)]);
	});
}

test("buildSessionProjection is there, which tells 0.87 from 0.86", async (t) => {
	const tells = (pi: ExtensionAPI): void => {
		pi.on("session_start", (_event, { sessionManager }) => console.error(typeof sessionManager.buildSessionProjection));
	};
	assert.deepEqual(await said(t, tells), ["function"]);
});
