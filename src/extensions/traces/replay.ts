import type { ModelEvent, ModelRequest, Provider, StopReason } from '../../core/api-providers.ts';
import {
  changedAsSent,
  createProviders,
  createRedactor,
  MODEL_ERROR_KINDS,
  readTrace,
  runGivenTurn,
  type EntryDraft,
  type Providers,
  type TraceFile,
} from '../../core/api-replay.ts';
import type { Program } from '../../core/api-vendors.ts';
import { errorMessage, type Clock } from '../../core/api.ts';
import { differenceOf, type Difference } from './difference.ts';
import {
  partsOfTrace,
  planOf,
  reasoningOf,
  recordedMessage,
  recordedTurn,
  type RecordedStep,
  type RecordedTurn,
} from './recorded-turn.ts';
import { redactJson } from './redact-lines.ts';

const REASONS: readonly StopReason[] = ['stop', 'tool-calls', 'length', 'refusal'];

/** What became of one recorded request. */
export type ReplayedRequest = { readonly call: number; readonly attempt: number } & (
  | { readonly result: 'same'; readonly bytes: number }
  | ({ readonly result: 'differs' } & Difference)
  | { readonly result: 'not-built'; readonly reason: string }
);

export interface Replay {
  readonly turn: string;
  /** Version of the program that saved the trace. */
  readonly version: string;
  readonly requests: readonly ReplayedRequest[];
  /** What the trace does not hold, one sentence each. */
  readonly missing: readonly string[];
}

/**
 * Runs a saved turn again with this program: the recorded answers of the model and results of tools, the recorded
 * clock, no network and no home. Compares each request with the recorded one. Throws an error of one sentence for a file
 * that is no trace.
 */
export async function replayTrace(
  file: string,
  { program, clock }: { readonly program: Program; readonly clock: Clock },
): Promise<Replay> {
  const trace = await readTrace(file);
  const { head } = trace;
  const turn = recordedTurn(trace);
  const providers = providersOf(trace, program, clock);
  const requests: ReplayedRequest[] = [];
  const wasStopped = turn.entries.some((entry) => entry.kind === 'turn-end' && entry.outcome === 'stopped');
  let calls = 0;
  const provider: Provider = {
    name: 'replay',
    async *chat(request): AsyncGenerator<ModelEvent> {
      const step = turn.steps[calls];
      calls += 1;
      if (step === undefined) {
        const reason = 'The model is asked here, and it was not when the turn was recorded.';
        // A person who stopped the turn kept it from asking; nobody stops a replay.
        if (!wasStopped) requests.push({ call: calls, attempt: 1, result: 'not-built', reason });
        yield { type: 'error', kind: 'aborted', retryable: false, message: reason };
        return;
      }
      requests.push(...(await compared(request, { trace, turn, step, call: calls, providers })));
      yield* eventsOf(step);
    },
  };
  const asked = turn.steps[0]?.call.attempts[0];
  const results = new Map(turn.results.map((entry) => [entry.callId, entry]));
  const inPlaceOf = (draft: EntryDraft): EntryDraft => {
    if (draft.kind === 'message' && draft.role === 'tool') return results.get(draft.callId) ?? draft;
    return recordedMessage(draft, turn);
  };
  if (asked !== undefined) {
    await runGivenTurn({
      ...planOf(trace, turn, () => turn.steps[calls]),
      chosen: { provider, providerName: asked.provider, model: asked.model },
      inPlaceOf,
    });
  }
  requests.push(...notReached(trace, turn.steps, calls));
  return { turn: head.turn, version: head.version, requests, missing: head.missing };
}

function providersOf({ head }: TraceFile, { presets, vendors }: Program, clock: Clock): Providers {
  const configs = Object.fromEntries(
    Object.entries(head.providers).map(([name, facts]) => [name, { ...facts, apiKey: 'not-needed' }]),
  );
  const offline = Object.fromEntries(Object.entries(vendors).filter(([, vendor]) => vendor.isNotReplayed !== true));
  return createProviders({ configs, program: { presets, vendors: offline }, clock });
}

interface Comparison {
  readonly trace: TraceFile;
  readonly turn: RecordedTurn;
  readonly step: RecordedStep;
  /** Counted from 1. */
  readonly call: number;
  readonly providers: Providers;
}

/** Compares what the turn asks now with each recorded attempt of the call. */
async function compared(
  asked: ModelRequest,
  { trace, turn, step, call, providers }: Comparison,
): Promise<readonly ReplayedRequest[]> {
  const redact = createRedactor([]);
  const parts = partsOfTrace(trace);
  const layers = parts.layers(step.call);
  const found: ReplayedRequest[] = [];
  for (const line of trace.lines) {
    if (line.kind !== 'request' || line.note !== step.note) continue;
    const which = { call, attempt: line.attempt + 1 };
    const sent = step.call.attempts[line.attempt];
    if (sent === undefined) continue;
    const isSamePrompt = String(step.call.layers) === String(turn.steps[0]?.call.layers);
    const isSameTools = step.call.tools === turn.steps[0]?.call.tools;
    const whole: ModelRequest = {
      ...asked,
      model: sent.model,
      reasoning: reasoningOf({ ...step.call, attempts: [sent] }),
      // After a start in the middle of the turn they were made anew.
      ...(isSamePrompt ? {} : { system: layers }),
      ...(isSameTools ? {} : { tools: parts.tools(step.call) }),
    };
    const request = changedAsSent(whole, sent);
    const body = await providers.body(sent.provider, request).catch((error: unknown) => error);
    if (typeof body !== 'string') {
      const reason = body === null ? 'Its provider sends no request.' : errorMessage(body);
      found.push({ ...which, result: 'not-built', reason });
      continue;
    }
    const difference = differenceOf(line.body, redactJson(body, redact), layers);
    if (difference !== null) found.push({ ...which, result: 'differs', ...difference });
    else found.push({ ...which, result: 'same', bytes: Buffer.byteLength(line.body) });
  }
  return found;
}

/** The recorded requests that the turn does not come to any more. */
function notReached({ lines }: TraceFile, steps: readonly RecordedStep[], calls: number): readonly ReplayedRequest[] {
  const reason = 'The turn ends before this request.';
  return steps.flatMap(({ note }, index) =>
    index < calls
      ? []
      : lines.flatMap((line): readonly ReplayedRequest[] =>
          line.kind === 'request' && line.note === note
            ? [{ call: index + 1, attempt: line.attempt + 1, result: 'not-built', reason }]
            : [],
        ),
  );
}

/** What the model did in a recorded call: each attempt, then its answer or its failure. */
function* eventsOf({ call, answer }: RecordedStep): Generator<ModelEvent> {
  for (const [index, { failed, ...attempt }] of call.attempts.entries()) {
    const { provider, model, body, bytes } = attempt;
    yield { type: 'request', provider, model, body, bytes, reasoning: 'off' };
    if (failed === undefined) continue;
    const kind = MODEL_ERROR_KINDS.find((known) => known === failed.kind) ?? 'malformed';
    const isLast = answer === undefined && index === call.attempts.length - 1;
    if (isLast) {
      const { reason: message, said } = failed;
      yield { type: 'error', kind, retryable: false, message, ...(said === undefined ? {} : { said }) };
      return;
    }
    yield { type: 'restart', reason: kind, waitMs: 0, message: failed.reason };
  }
  if (answer === undefined) {
    yield { type: 'error', kind: 'aborted', retryable: false, message: 'The recorded call has no answer.' };
    return;
  }
  yield {
    type: 'end',
    stopReason: REASONS.find((known) => known === answer.stopReason) ?? 'stop',
    response: {
      content: answer.content.map((part) =>
        part.type === 'tool-call'
          ? { type: part.type, id: part.providerCallId, name: part.name, arguments: part.arguments }
          : part,
      ),
      model: answer.model,
      usage: answer.usage,
      answeredBy: { provider: answer.provider, model: answer.model },
    },
  };
}
