/** The breaker's requests, decisions, events and effects. */
import type { Answer } from "./answers.ts";
import type { Policy } from "./policies.ts";
import type { AmountId, Call, Max, MeterId, PerMeter } from "./meters.ts";
import type { Outcome } from "./outcome.ts";
import type { Busy, State } from "./state.ts";

/**
 * By shared meter that is limited: what is used, or held by others, and the limit with all that was granted. A turn
 * counts from its admission, so what is held for one that has not begun is left out.
 */
export type Balances = Readonly<Partial<PerMeter<{ readonly used: number; readonly cap: number }>>>;

/** Something that must not happen without a decision. The first turn of a run starts the run. */
export type Request =
	{ readonly type: "turn_requested" } | { readonly type: "tool_call_requested"; readonly call: Call };

/**
 * The answer to one request. `wait`: make the request again once the open question is closed, or the ledger has
 * answered. `refuse`: give the tool call an error result. `abort`: stop the run.
 */
export type Decision = "admit" | "wait" | "refuse" | "abort";

export type Event =
	/** A person's prompt reached an idle agent: the run that follows begins a round, and a tree. */
	| { readonly type: "prompted" }
	/** A run begins that ends before its first turn is requested, so that it has an outcome too. */
	| { readonly type: "begun" }
	/** Whether there is a person to ask; read between runs. */
	| { readonly type: "attended_set"; readonly attended: boolean }
	/** `goesOn`: the host will request another turn unless it is stopped. `concluded`: the model gave its answer. */
	| { readonly type: "turn_ended"; readonly goesOn: boolean; readonly concluded?: boolean }
	/** The request failed, or the host takes the answer back: it repeats the turn, or gives up. */
	| { readonly type: "turn_failed"; readonly message: string }
	/**
	 * A new message entered the conversation, or the host has given up repeating. A retry under way no longer is one:
	 * request the turn once more.
	 */
	| { readonly type: "message_entered" }
	/** Amounts that became known. */
	| { readonly type: "charged"; readonly amounts: Readonly<Partial<Record<AmountId, number>>> }
	/** Counts from before this breaker was made, because a resumed session has spent something. Between runs only. */
	| { readonly type: "counted"; readonly used: Readonly<Partial<PerMeter<number>>> }
	/** The ledger holds room for the next turn in every shared limit. */
	| { readonly type: "held"; readonly balances: Balances }
	/** The ledger has no room: this shared limit is reached, and no wider one. */
	| { readonly type: "filled"; readonly meter: MeterId; readonly balances: Balances }
	/** The ledger cannot be used. */
	| { readonly type: "unreachable"; readonly message: string }
	/** The ledger has reported shared meters. */
	| { readonly type: "balanced"; readonly balances: Balances }
	/** An amount reached its limit while a turn or a call is under way, and the host could cut that off. */
	| { readonly type: "ran_out"; readonly meter: MeterId }
	/** `grant`: how much a yes buys, above 0, where the person chose it: the size of the next round, or an addition to a wider limit. */
	| { readonly type: "answered"; readonly answer: Answer; readonly grant?: number | undefined }
	| { readonly type: "wrap_up_requested" }
	/** The model does not see our message: a compaction took it, or a tool kept a refusal to itself. */
	| { readonly type: "message_lost" }
	| { readonly type: "limit_set"; readonly meter: MeterId; readonly max: Max }
	| { readonly type: "limit_raised"; readonly meter: MeterId; readonly by: number }
	| { readonly type: "policy_set"; readonly meter: MeterId; readonly policy: Policy }
	| { readonly type: "grace_set"; readonly grace: number }
	| { readonly type: "exempt_set"; readonly exempt: readonly string[] }
	| { readonly type: "interrupted" }
	/** The breaker itself failed where it should decide. */
	| { readonly type: "broke"; readonly message: string }
	| { readonly type: "settled" }
	/** The session ends, perhaps in the middle of a run. */
	| { readonly type: "shut_down" };

export type Effect =
	/** Ask whether to continue and report `answered`. */
	| { readonly type: "ask"; readonly meter: MeterId }
	/** Hold room for a turn in the ledger and report `held`, `filled`, `unreachable`, or `interrupted` if the run was aborted meanwhile. */
	| { readonly type: "reserve" }
	/** The turn for which the ledger holds room does not begin. */
	| { readonly type: "release" }
	/** Grant so much more of a shared limit. `isAnswer`: of the one that was asked about, though another period may have begun since. */
	| { readonly type: "raise"; readonly meter: MeterId; readonly by: number; readonly isAnswer?: true }
	/** The open question needs no answer any more. */
	| { readonly type: "close_question" }
	/** Tell the model to wrap up, with its next request: little is left of this meter, or the person wants it. */
	| { readonly type: "advise"; readonly meter: MeterId; readonly remaining: Max }
	/** Tell the model, with its next request, that it has made this call so often in a row. */
	| { readonly type: "point_out"; readonly call: Call; readonly times: number }
	/** Tell the model, with its next request, that its budget is spent and an answer is due. */
	| { readonly type: "synthesize" }
	/** Tell the model, with its next request, that it may work again. */
	| { readonly type: "resume" }
	/** Request another turn although the model called no tool. */
	| { readonly type: "continue" }
	/** Stop the run now. */
	| { readonly type: "abort" }
	/** `repeated`: a run like this one was refused and reported just before. */
	| { readonly type: "end"; readonly outcome: Outcome; readonly repeated: boolean };

export type Step = readonly [state: State, effects: readonly Effect[]];
export type BusyStep = readonly [state: Busy, effects: readonly Effect[]];

/** The answer to a request; the effects come before it is carried out. */
export type Ruling = readonly [state: State, decision: Decision, effects: readonly Effect[]];
