/** One breaker in one session: its settings, its command, its coming and going. */
import { type Late, readGrace, readMessage } from "../core/late.ts";
import { bound, type Limit, type Policy } from "../core/limit.ts";
import { create, METER_IDS, type MeterId, type PerMeter, perMeter, type State } from "../core/state.ts";
import * as wording from "../core/wording.ts";
import { LIMIT_OF, type Place, type Resolved } from "../settings/settings.ts";
import { attach, type Successor } from "./adapter.ts";
import { type Command, complete, meterOf, parse } from "./command.ts";
import { drive } from "./driver.ts";
import { canTellTheModel, type Context, NAME, type Pi } from "./host.ts";
import { preferences, type Surroundings } from "./preferences.ts";
import { report, type Report } from "./report.ts";
import { isTaken, shared } from "./shared.ts";

/** What differs between pi's own process and a program that embeds pi. */
export interface Options {
	/** Where settings stand, strongest first, as long as nothing is known of the session. */
	readonly places: readonly Place[];
	/** Where they stand once a session has started; the same places if not given. */
	readonly surroundings?: (ctx: Context) => Surroundings;
	/** This copy guards the session, and no other. */
	readonly claimed?: () => void;
	/** Of limits that have one of their own. */
	readonly policies?: Partial<PerMeter<Policy>>;
	/** In place of the setting; read at every check. */
	readonly grace?: (() => unknown) | undefined;
	/** In place of the setting; read when it is sent. */
	readonly wrapUpMessage?: (() => unknown) | undefined;
	/** Where there is no person to tell. */
	readonly log?: (message: string) => void;
	readonly hear?: (report: Report, ctx: Context) => void;
}

/** How long an instance that was reloaded holds a run for the next instance, in milliseconds. */
const PATIENCE = 10_000;

/** Guards the session that `pi` belongs to, unless another copy does. Gives the state, at any time. */
export function install(pi: Pi, options: Options): () => State {
	const { places, grace } = options;
	const chosen = preferences(pi, places, options.surroundings ?? (() => ({ places, problems: [] })));
	const told = new Set<string>();
	if (isTaken(pi)) {
		pi.on("session_start", (_event, ctx) => tellOnce(wording.LOADED_TWICE, ctx));
		return () => initial(false);
	}
	options.claimed?.();

	const driver = drive(initial(false), {
		askTimeout: () => chosen.current.askTimeout.value,
		wrapUpMessage: (remaining, ctx) => {
			const text = chosen.current.wrapUpMessage.value || wording.wrapUp(remaining);
			return options.wrapUpMessage ? used(readMessage(options.wrapUpMessage, text), ctx) : text;
		},
		ended: (outcome, queued, ctx) => {
			report(pi, { outcome, text: wording.line(outcome, source), shown, queued }, options.hear, ctx);
			shown = false;
		},
	});
	const adapter = attach(pi, driver, {
		begin,
		grace: grace && ((ctx) => used(readGrace(grace), ctx)),
		reason: (state) => wording.reason(state, source),
		reasonTold: () => (shown = true),
	});
	let begun: Promise<void> | undefined;
	let shown = false;

	pi.on("session_start", async (_event, ctx) => await begin(ctx));

	pi.on("session_tree", async (_event, ctx) => {
		const problems = chosen.recall(ctx);
		await apply(ctx);
		if (driver.isShowing) showIdle(ctx);
		if (problems.length > 0) tellOnce(problems.join("\n"), ctx);
	});

	pi.on("session_shutdown", async ({ reason }, ctx) => {
		if (reason === "reload") {
			leave(ctx);
			return;
		}
		await driver.step({ type: "shut_down" }, ctx);
		adapter.retire(Promise.resolve(undefined));
	});

	pi.registerCommand(NAME, {
		description: wording.COMMAND,
		getArgumentCompletions: complete,
		handler: async (args, ctx) => await execute(parse(args), ctx),
	});

	return () => driver.state;

	/** At the first event of a session, whichever it is. */
	function begin(ctx: Context): Promise<void> {
		return (begun ??= start(ctx));
	}

	async function start(ctx: Context): Promise<void> {
		if (!canTellTheModel(ctx)) {
			adapter.retire(Promise.resolve(undefined));
			tellOnce(wording.HOST_TOO_OLD, ctx);
			return;
		}
		const problems = chosen.load(ctx);
		const id = ctx.sessionManager.getSessionId();
		const left = shared.left.get(id);
		shared.left.delete(id);
		driver.state = left?.state ?? initial(ctx.hasUI);
		await apply(ctx);
		left?.succeed((name, event) => adapter.handle(name, event, ctx));
		if (problems.length > 0) tellOnce(problems.join("\n"), ctx);
	}

	/** Whatever still reaches this instance waits for the next, but not for ever: it may not be loaded again. */
	function leave(ctx: Context): void {
		const { state } = driver;
		const { phase } = state;
		const kept: State = phase.name === "asking" ? { ...state, phase: { name: "running", run: phase.run } } : state;
		adapter.retire(
			new Promise((resolve) => {
				const giveUp = setTimeout(() => succeed(undefined), PATIENCE);
				const succeed = (successor: Successor | undefined): void => {
					clearTimeout(giveUp);
					driver.letGo();
					resolve(successor);
				};
				shared.left.set(ctx.sessionManager.getSessionId(), { state: kept, succeed });
			}),
		);
	}

	function initial(attended: boolean): State {
		return initialState(chosen.current, options.policies, attended);
	}

	/** Brings the breaker in line with the settings by events, so that the core's rules for a change apply. */
	async function apply(ctx: Context): Promise<void> {
		const { meters, grace } = initial(ctx.hasUI);
		for (const meter of METER_IDS) {
			const { max, policy } = meters[meter].limit;
			const now = driver.state.meters[meter].limit;
			if (now.max !== max) await driver.step({ type: "limit_set", meter, max }, ctx);
			if (now.policy !== policy) await driver.step({ type: "policy_set", meter, policy }, ctx);
		}
		await driver.step({ type: "grace_set", grace }, ctx);
		adapter.listen();
	}

	async function execute(command: Command, ctx: Context): Promise<void> {
		if (!canTellTheModel(ctx)) return tell(wording.HOST_TOO_OLD, "error", ctx);
		switch (command.type) {
			case "status":
				tell(wording.status(driver.state, chosen.current), "info", ctx);
				return;
			case "invalid":
				tell(command.message, "error", ctx);
				return;
			case "wrap_up":
				await driver.step({ type: "wrap_up_requested" }, ctx);
				adapter.listen();
				tell(wording.wrapUpText(driver.state), "info", ctx);
				return;
			case "set":
				chosen.set(command.key, command.value);
				await apply(ctx);
				tell(wording.setText(meterOf(command.key) ?? (command.key as "policy" | "grace"), command.value), "info", ctx);
				break;
			case "raise": {
				const before = bound(driver.state.meters[command.meter]);
				if (before === "unlimited") return tell(wording.unlimitedText(command.meter), "error", ctx);
				await driver.step({ type: "limit_raised", meter: command.meter, by: command.by }, ctx);
				tell(wording.raisedText(driver.state, command.meter, command.by), "info", ctx);
			}
		}
		showIdle(ctx);
	}

	function showIdle(ctx: Context): void {
		if (driver.state.phase.name === "idle") driver.show(wording.idleWidget(driver.state), ctx);
	}

	function source(id: MeterId): string {
		return chosen.current[LIMIT_OF[id]].source;
	}

	function tell(message: string, type: "info" | "warning" | "error", ctx: Context): void {
		if (ctx.hasUI) ctx.ui.notify(message, type);
		else options.log?.(message);
	}

	function tellOnce(message: string, ctx: Context): void {
		if (!told.has(message)) tell(message, "warning", ctx);
		told.add(message);
	}

	function used<T>({ value, problem }: Late<T>, ctx: Context): T {
		if (problem !== undefined) tellOnce(problem, ctx);
		return value;
	}
}

/** A breaker that has counted nothing yet. Only the command changes the policy of limits that have one of their own. */
export function initialState(settings: Resolved, policies: Options["policies"], attended: boolean): State {
	const own = settings.policy.source === `/${NAME}` ? undefined : policies;
	const limit = (id: MeterId): Limit => ({
		max: settings[LIMIT_OF[id]].value,
		policy: own?.[id] ?? settings.policy.value,
	});
	return create({ attended, limits: perMeter(limit), grace: settings.grace.value });
}
