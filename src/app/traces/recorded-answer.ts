import { MODEL_ERROR_KINDS, type ModelEvent, type StopReason } from '../../core/providers/provider.ts';
import type { RecordedStep } from './recorded-turn.ts';

const REASONS: readonly StopReason[] = ['stop', 'tool-calls', 'length', 'refusal'];

/** What the model did in a recorded call: each attempt, then its answer or its failure. */
export function* eventsOf({ call, answer }: RecordedStep): Generator<ModelEvent> {
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
