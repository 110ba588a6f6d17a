import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/log.ts';
import { Cooldowns } from './cooldowns.ts';
import { refusesContent } from '../content-refusals.ts';
import { factsOf, failureNote } from './retry.ts';
import type { ModelError, ModelErrorKind, ModelEvent, ModelName, ModelRequest, Provider } from '../provider.ts';

/** One way to get an answer: a model behind one key. */
export interface Candidate {
  readonly provider: Provider;
  readonly providerName: string;
  /** The provider's own name of the model; replaces the request's. */
  readonly model: string;
  /** What cools down. @default `providerName/model` */
  readonly id?: string;
}

export interface FailoverOptions {
  readonly clock: Clock;
  readonly log?: Logger;
  /** Shared by all that use the same keys. @default its own */
  readonly cooldowns?: Cooldowns;
  /** After which errors the next candidate is tried. @default all that another model may not have */
  readonly leaveOn?: ReadonlySet<ModelErrorKind>;
}

/** Errors that say something of the key or the server, and nothing of the request. */
const TROUBLES: ReadonlySet<ModelErrorKind> = new Set([
  'rate-limit',
  'overloaded',
  'timeout',
  'network',
  'auth',
  'quota',
  'malformed',
]);

/** Another model may accept what one refused because of its content. */
const LEAVE_ON: ReadonlySet<ModelErrorKind> = new Set([...TROUBLES, 'refusal']);

/** Errors of one key, for which another key of the same provider is the cure. */
export const KEY_TROUBLES: ReadonlySet<ModelErrorKind> = new Set(['rate-limit', 'auth', 'quota']);

/**
 * Asks the candidates in order until one answers. What fails cools down and is passed over until then, until it
 * succeeds; when all cool down, the one that is free first is asked at once. Announces each further candidate by a
 * `restart`. Another model than the first says so in `response.answeredBy`, and answers without reasoning when it did
 * not write the whole turn so far (`turnModels`). The last error is given as it came.
 */
export function withFailover(candidates: readonly [Candidate, ...Candidate[]], options: FailoverOptions): Provider {
  const [first] = candidates;
  const cooldowns = options.cooldowns ?? new Cooldowns(options.clock);
  return {
    name: first.providerName,
    ...(first.provider.local === undefined ? {} : { local: first.provider.local }),
    chat: (request, { signal }) => chatWithFailover(candidates, { ...options, cooldowns }, { request, signal }),
    warm: async () => first.provider.warm?.(),
  };
}

async function* chatWithFailover(
  candidates: readonly [Candidate, ...Candidate[]],
  { cooldowns, log, leaveOn = LEAVE_ON }: FailoverOptions & { readonly cooldowns: Cooldowns },
  { request, signal }: { readonly request: ModelRequest; readonly signal: AbortSignal },
): AsyncGenerator<ModelEvent> {
  const queue = inTurn(candidates, cooldowns);
  for (const [index, candidate] of queue.entries()) {
    const next = queue[index + 1];
    for await (const given of candidate.provider.chat(requestTo(candidate, request), { signal })) {
      const event = refusalOf(given, candidate) ?? given;
      if (event.type === 'end') {
        cooldowns.succeed(idOf(candidate));
        yield { ...event, response: { ...event.response, ...answeredBy(candidate, candidates[0]) } };
        return;
      }
      if (event.type !== 'error') {
        yield event;
        continue;
      }
      const isOfModel = event.about === 'model';
      if (TROUBLES.has(event.kind) || isOfModel) cooldowns.fail(idOf(candidate), event.retryAfterMs);
      // Another key of the same model would be told the same.
      const refuses = refusesContent(event);
      const isAnother = next !== undefined && !isSame(toName(candidate), toName(next));
      const mayLeave =
        next !== undefined &&
        !(request.isTrial === true && refuses !== 'no') &&
        (leaveOn.has(event.kind) || (isAnother && (isOfModel || (leaveOn.has('refusal') && refuses === 'perhaps'))));
      if (!mayLeave || signal.aborted) {
        yield event;
        return;
      }
      log?.warn('model: another model or key takes over', {
        from: nameOf(candidate),
        to: nameOf(next),
        kind: event.kind,
        reason: event.message,
      });
      const message = `${failureNote(candidate.providerName, event.kind)}; trying ${changeTo(candidate, next)}`;
      yield { type: 'restart', reason: event.kind, ...factsOf(event), waitMs: 0, message };
      break;
    }
  }
}

/** An answer without a text that ends in a refusal, as an error; undefined for every other event. */
function refusalOf(event: ModelEvent, { providerName, model }: Candidate): ModelError | undefined {
  if (event.type !== 'end' || event.stopReason !== 'refusal') return undefined;
  const isEmpty = event.response.content.every((part) => part.type !== 'text' || part.text.trim() === '');
  if (!isEmpty) return undefined;
  const message = `${providerName} refused to answer with ${model} because of its content rules.`;
  return { type: 'error', kind: 'refusal', retryable: false, message };
}

/** The candidates without a cooldown, in order; if all have one, the candidate whose cooldown ends first. */
function inTurn(candidates: readonly [Candidate, ...Candidate[]], cooldowns: Cooldowns): readonly Candidate[] {
  const free = candidates.filter((candidate) => cooldowns.left(idOf(candidate)) === 0);
  if (free.length > 0) return free;
  const left = candidates.map((candidate) => cooldowns.left(idOf(candidate)));
  return [candidates[left.indexOf(Math.min(...left))] ?? candidates[0]];
}

function requestTo(candidate: Candidate, request: ModelRequest): ModelRequest {
  const foreign = (request.turnModels ?? []).some((name) => !isSame(name, toName(candidate)));
  return { ...request, model: candidate.model, ...(foreign ? { reasoning: 'off' as const } : {}) };
}

function answeredBy(candidate: Candidate, first: Candidate): { readonly answeredBy?: ModelName } {
  return isSame(toName(candidate), toName(first)) ? {} : { answeredBy: toName(candidate) };
}

function toName({ providerName, model }: Candidate): ModelName {
  return { provider: providerName, model };
}

function isSame(a: ModelName, b: ModelName): boolean {
  return a.provider === b.provider && a.model === b.model;
}

function nameOf({ providerName, model }: Candidate): string {
  return `${providerName}/${model}`;
}

function idOf(candidate: Candidate): string {
  return candidate.id ?? nameOf(candidate);
}

function changeTo(from: Candidate, to: Candidate): string {
  return isSame(toName(from), toName(to)) ? 'another key' : nameOf(to);
}
