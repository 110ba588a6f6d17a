import type { App } from '../../app.ts';
import type { ModelName, ModelRequest, SentRequest } from '../../providers/provider.ts';
import type { CallRecord, EntryDraft } from '../../session/entry.ts';
import type { Session } from '../../session/session.ts';
import { errorMessage } from '../../util/errors.ts';
import { cut } from '../../util/text.ts';

type Attempt = CallRecord['attempts'][number];
type Failure = NonNullable<Attempt['failed']>;

/** Cap of the attempts that one record keeps; ordinary retries and failovers stay below it. */
const MOST_ATTEMPTS = 24;
const LONGEST_REASON = 300;
/** A shorter wait for a free place is not recorded. */
const LONG_PLACE_MS = 1_000;

/** Collects the attempts of one model call while it runs. */
export class CallAttempts {
  readonly #asked: ModelName;
  readonly #list: Attempt[] = [];
  #placeMs = 0;

  /** `asked`: the model of the call, used for an attempt that does not name its model. */
  constructor(asked: ModelName) {
    this.#asked = asked;
  }

  get list(): readonly Attempt[] {
    if (this.#list.length > 0) return this.#list;
    return [{ ...this.#asked, body: null, bytes: 0, reasoning: 'off' }];
  }

  /** The model of the call, `provider/model`, if only others were asked. */
  get passedOver(): string | undefined {
    const { provider, model } = this.#asked;
    const isAsked = this.list.some((attempt) => attempt.provider === provider && attempt.model === model);
    return isAsked ? undefined : `${provider}/${model}`;
  }

  /** How long the call waited for a free place, ms. */
  get placeMs(): number {
    return this.#placeMs;
  }

  waitedForPlace(ms: number): void {
    this.#placeMs += Math.round(ms);
  }

  began({ provider, model, key, body, bytes, reasoning, withoutImages, quirks }: SentRequest): void {
    if (this.#list.length >= MOST_ATTEMPTS) this.#list.splice(MOST_ATTEMPTS / 2, 1);
    this.#list.push({
      provider,
      model,
      ...(key === undefined ? {} : { key }),
      body,
      bytes,
      reasoning,
      ...(withoutImages === true ? { withoutImages } : {}),
      ...(quirks === undefined ? {} : { quirks }),
    });
  }

  /** Marks the newest attempt as failed. A failure without an open attempt becomes an entry of its own. */
  failed({ kind, status, reason, said, waitMs = 0 }: Failure): void {
    const failed: Failure = {
      kind,
      ...(status === undefined ? {} : { status }),
      reason: cut(reason, LONGEST_REASON),
      ...(said === undefined ? {} : { said: cut(said, LONGEST_REASON) }),
      ...(waitMs > 0 ? { waitMs } : {}),
    };
    const last = this.#list.at(-1);
    if (last !== undefined && last.failed === undefined) this.#list.splice(-1, 1, { ...last, failed });
    else if (last === undefined) this.#list.push({ ...this.#asked, body: null, bytes: 0, reasoning: 'off', failed });
  }
}

/** The record of one model call while it runs. */
export interface PendingRecord {
  readonly attempts: CallAttempts;
  /** Call it after the model call. Resolves with the entry for the tape when the prompt parts are stored. Never rejects. */
  entry(): Promise<EntryDraft>;
}

/**
 * Begins the record of a model call: hashes the prompt layers and tools (once per object) and stores them while the model
 * works. `changed`: a hook changed the messages, so they cannot be rebuilt from the tape.
 */
export function recordCall(
  call: {
    readonly session: Session;
    readonly turnId: string;
    readonly asked: ModelName;
    readonly request: ModelRequest;
    readonly changed: boolean;
  },
  { promptParts, log }: App,
): PendingRecord {
  const { session, turnId, asked, request, changed } = call;
  const { system, tools, toolChoice, maxOutputTokens, temperature } = request;
  const layers = promptParts.hashes(system, () => system);
  const [list = ''] = promptParts.hashes(tools, () => [JSON.stringify(tools)]);
  const kept = promptParts
    .keep([...layers, list], () => [...system, JSON.stringify(tools)])
    .catch((error: unknown) =>
      log.warn('model call: its prompt could not be stored, so this request cannot be rebuilt later', {
        turn: turnId,
        reason: errorMessage(error),
      }),
    );
  const after = session.newestId ?? '';
  const attempts = new CallAttempts(asked);
  return {
    attempts,
    entry: async () => {
      await kept;
      return {
        kind: 'note',
        turn: turnId,
        text: 'model call',
        call: {
          after,
          layers: [...layers],
          tools: list,
          toolChoice,
          maxOutputTokens,
          ...(temperature === undefined ? {} : { temperature }),
          ...(changed ? { changed } : {}),
          ...(attempts.passedOver === undefined ? {} : { passedOver: attempts.passedOver }),
          ...(attempts.placeMs >= LONG_PLACE_MS ? { placeMs: attempts.placeMs } : {}),
          attempts: [...attempts.list],
        },
      };
    },
  };
}
