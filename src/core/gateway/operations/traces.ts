import * as z from 'zod';
import { receiptOf } from '../../agent/receipt/receipt.ts';
import { entriesOfTurn } from '../../assistant/why.ts';
import { unknownTurn, type TurnRecord } from '../../journal/turn-records.ts';
import { type CallRecord, saidIn } from '../../session/entry.ts';
import { turnOf, type TapeTurn, type TurnStep } from '../../session/turns.ts';
import { cut } from '../../util/text.ts';
import { listOf, operation } from './operation.ts';
import { turnChange, turnChanges } from './turn-changes.ts';

const LONGEST_TEXT = 2_000;

/** A turn in the list of the newest ones. Times are milliseconds since 1970. */
const turnFacts = z.object({
  turn: z.string(),
  session: z.string(),
  startedAt: z.number(),
  /** `answered`, `failed`, `stopped`, …; null: it is running. */
  outcome: z.string().nullable(),
});

/** Tokens; `input` counts the cached ones too. */
const traceTokens = z.object({ input: z.number(), cached: z.number(), output: z.number() });
export type TraceTokens = Readonly<z.output<typeof traceTokens>>;

/** What a tool call did or tried to do. */
const turnEffect = z.object({
  callId: z.string(),
  /** Milliseconds since 1970 of its result. */
  at: z.number(),
  tool: z.string(),
  /** `file`, `command`, `process`, `message`, `job`, `memory`, `task`, `conversation`, or `call` of a tool that says no more. */
  kind: z.string(),
  /** A path, a command line, a chat, a job, …; null: the tool does not say. */
  target: z.string().nullable(),
  /** `done`, `failed`, `refused`, or `unknown`: it was cut off. */
  outcome: z.string(),
  exitCode: z.number().nullable(),
  /** There was nothing of the name of its target. */
  missing: z.boolean(),
  /** Its failure gets no line: a command that only looks, or words to the chat that reads the answer. */
  minor: z.boolean(),
  /** A person was asked and said yes. */
  approved: z.boolean(),
  /** Which answer of the model asked for it, counted from 1. */
  step: z.number(),
});
export type TurnEffect = Readonly<z.output<typeof turnEffect>>;

/** One thing that happened in a turn: `at` is when it was over, `tookMs` how long after the one before. */
const time = z.object({ at: z.number(), tookMs: z.number() });
const traceStep = z.discriminatedUnion('kind', [
  time.extend({ kind: z.literal('message'), text: z.string() }),
  time.extend({
    kind: z.literal('model'),
    /** Each attempt of the call, the last one last. */
    attempts: listOf(
      z.object({
        /** `provider/model` */
        model: z.string(),
        /** Size of the request. */
        bytes: z.number(),
        /** Why it failed; null: it did not. */
        failed: z.string().nullable(),
      }),
    ),
    /** Null: it did not answer, or did not say. */
    tokens: traceTokens.nullable(),
    stopReason: z.string().nullable(),
    text: z.string(),
    /** Tools that it called, by their ids. */
    calls: listOf(z.object({ callId: z.string(), name: z.string(), arguments: z.string() })),
  }),
  time.extend({
    kind: z.literal('tool'),
    callId: z.string(),
    name: z.string(),
    isError: z.boolean(),
    /** A person was asked and said yes. */
    approved: z.boolean(),
    /** Of the whole result. */
    characters: z.number(),
    output: z.string(),
  }),
]);
export type TraceStep = Readonly<z.output<typeof traceStep>>;

const turnTrace = turnFacts.extend({
  /** Who or what began it, e.g. `user`, `cron`, `heartbeat`. */
  origin: z.string(),
  role: z.string(),
  endedAt: z.number().nullable(),
  /** `provider/model` of its answer. */
  model: z.string().nullable(),
  /** Of all calls, once it ended. */
  tokens: traceTokens.nullable(),
  /** US dollars; null: the price is unknown, or it is running. */
  costUsd: z.number().nullable(),
  /** What its tool calls did or tried to do, in their order. */
  did: listOf(turnEffect),
  /** What it changed in files and jobs, as far as it is kept for undo. */
  changes: listOf(turnChange),
  /** The line below its answer that names what was not done; null: there is none. */
  unfinished: z.string().nullable(),
  /** Oldest first. Texts have at most 2,000 characters. */
  steps: listOf(traceStep),
});
export type TurnTrace = Readonly<z.output<typeof turnTrace>>;

export const turnsList = operation({
  name: 'turnsList',
  about: 'Lists the newest turns of all conversations, newest first.',
  changes: null,
  input: z.object({
    count: z.int().min(1).max(1_000).describe('How many turns at most.'),
    before: z.string().max(64).exactOptional().describe('Only turns older than the one with this id.'),
  }),
  output: listOf(turnFacts),
  run: async ({ journal }, { count, before }) => journal.turnRecords.newest(count, before).map(factsOf),
});

export const turnsTrace = operation({
  name: 'turnsTrace',
  about:
    'Returns what happened in a turn step by step: each model call with its attempts and tokens, each tool call with its time; `turn-unknown` if there is no such turn.',
  changes: null,
  input: z.object({
    turn: z.string().min(1).max(64).exactOptional().describe('Id of the turn; without it, the newest one.'),
  }),
  output: turnTrace,
  run: async (app, { turn }) => {
    const { turnRecords } = app.journal;
    const record = turn === undefined ? turnRecords.newest(1)[0] : turnRecords.find(turn);
    if (record === undefined) throw unknownTurn(turn);
    const folded = turnOf(await entriesOfTurn(app.paths.sessions, record));
    const did = receiptOf(folded);
    return { ...traceOf(record, folded), did, changes: await turnChanges(record, did, app) };
  },
});

function factsOf({ id, session, startedAt, outcome }: TurnRecord): z.input<typeof turnFacts> {
  return { turn: id, session, startedAt, outcome };
}

function traceOf(record: TurnRecord, turn: TapeTurn): Omit<TurnTrace, 'did' | 'changes'> {
  const { start, end } = turn;
  return {
    ...factsOf(record),
    origin: start?.origin ?? '',
    role: start?.role ?? '',
    endedAt: end?.at ?? null,
    model: end?.model ?? null,
    tokens: end === undefined ? null : tokensOf(end.usage),
    costUsd: end?.costUsd ?? null,
    unfinished: end?.unfinished ?? null,
    steps: stepsOf(turn),
  };
}

function stepsOf({ start, steps }: TapeTurn): readonly TraceStep[] {
  let before = start?.at ?? steps[0]?.at ?? 0;
  return steps.map((step) => {
    const { at } = step;
    const tookMs = Math.max(0, at - before);
    before = at;
    return { at, tookMs, ...factsOfStep(step) };
  });
}

type StepFacts = DistributiveOmit<TraceStep, 'at' | 'tookMs'>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function factsOfStep(step: TurnStep): StepFacts {
  switch (step.kind) {
    case 'message':
      return { kind: 'message', text: cut(saidIn(step.entry), LONGEST_TEXT) };
    case 'tool': {
      const { callId, name, output, isError, approved = false } = step.entry;
      const { length: characters } = output;
      return { kind: 'tool', callId, name, isError, approved, characters, output: cut(output, LONGEST_TEXT) };
    }
    case 'model': {
      const { note, answer } = step;
      const asked =
        answer === undefined ? [] : [{ model: `${answer.provider}/${answer.model}`, bytes: 0, failed: null }];
      return {
        kind: 'model',
        attempts: note === undefined ? asked : attemptsOf(note.call),
        tokens: answer?.usage ? tokensOf(answer.usage) : null,
        stopReason: answer?.stopReason ?? null,
        text: answer === undefined ? '' : cut(saidIn(answer), LONGEST_TEXT),
        calls: (answer?.content ?? []).flatMap((part) =>
          part.type === 'tool-call'
            ? [{ callId: part.callId, name: part.name, arguments: cut(part.arguments, LONGEST_TEXT) }]
            : [],
        ),
      };
    }
  }
}

function attemptsOf({ attempts }: CallRecord): Extract<TraceStep, { kind: 'model' }>['attempts'] {
  return attempts.map(({ provider, model, bytes, failed }) => ({
    model: `${provider}/${model}`,
    bytes,
    failed: failed === undefined ? null : `${failed.kind}${statusOf(failed)}: ${failed.reason}`,
  }));
}

function statusOf({ status }: { readonly status?: number }): string {
  return status === undefined ? '' : ` (${status})`;
}

function tokensOf({ input, cached, output }: TraceTokens): TraceTokens {
  return { input, cached, output };
}
