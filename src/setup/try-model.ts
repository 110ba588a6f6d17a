import { openProvider, type ProviderConfig } from '../core/providers/open-provider.ts';
import type { ModelServices } from '../core/providers/vendor.ts';
import type { ModelError, ToolSpec } from '../core/providers/provider.ts';
import { deadline, type Clock } from '../core/util/clock.ts';
import { AppError } from '../core/util/errors.ts';

export interface Trial {
  readonly program: ModelServices;
  readonly provider: string;
  readonly model: string;
  readonly config: ProviderConfig;
  readonly apiKey: string | null;
  /** Tokens of context that are configured for the model; null: none. */
  readonly window: number | null;
  readonly clock: Clock;
  /** Ends it, as Ctrl-C does. */
  readonly signal: AbortSignal;
}

export type TrialResult =
  | {
      readonly ok: true;
      readonly seconds: number;
      /** What a person has to know of the model. */ readonly note?: string;
    }
  | {
      readonly ok: false;
      /** One sentence. */
      readonly why: string;
      /** What a person has to correct. */
      readonly wrong: 'key' | 'model' | 'other';
    };

/** A model at home may have to be loaded first. */
const TIMEOUT_MS = 180_000;

/** Offered, so that a model that cannot use tools is found out now and not in the first conversation. */
const TOOL: ToolSpec = {
  name: 'say_ready',
  description: 'Says that everything works.',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
};

/** Asks a model for one real answer, once, as the assistant will. Never rejects. */
export async function tryModel(trial: Trial): Promise<TrialResult> {
  const { provider, model, config, apiKey, window, program, clock } = trial;
  const begun = clock.monotonic();
  using limit = deadline(clock, TIMEOUT_MS, 'the answer');
  try {
    const opened = openProvider(provider, config, { apiKey, windowOf: () => window, program, clock });
    const events = opened.chat(
      {
        model,
        system: ['You are the personal assistant of the person who is setting you up.'],
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Are you ready? Answer with one word.' }] }],
        tools: [TOOL],
        toolChoice: 'auto',
        maxOutputTokens: 1024,
      },
      { signal: AbortSignal.any([limit.signal, trial.signal]) },
    );
    for await (const event of events) {
      if (event.type === 'end') {
        const { note } = event.response;
        return { ok: true, seconds: (clock.monotonic() - begun) / 1000, ...(note === undefined ? {} : { note }) };
      }
      if (event.type !== 'error') continue;
      if (limit.signal.aborted) {
        return { ok: false, why: `${provider}/${model} did not answer within ${TIMEOUT_MS / 1000} s.`, wrong: 'other' };
      }
      return { ok: false, ...troubleOf(event, trial) };
    }
  } catch (error) {
    if (error instanceof AppError) return { ok: false, why: error.message, wrong: 'other' };
    throw error;
  }
  return { ok: false, why: `${provider} ended without an answer.`, wrong: 'other' };
}

function troubleOf({ kind, status, missing, message }: ModelError, { provider, model, apiKey }: Trial) {
  const code = status === undefined ? '' : ` (${status})`;
  if (kind === 'auth' && status === 403) {
    return { why: `This key may not use the model "${model}" of ${provider}${code}.`, wrong: 'model' as const };
  }
  if (kind === 'auth') {
    const why = apiKey === null ? `${provider} asks for an API key${code}.` : `${provider} refused the API key${code}.`;
    return { why, wrong: 'key' as const };
  }
  if (missing !== undefined) {
    const pull = missing.pull === null ? '' : ` Get it with: ${missing.pull}`;
    return { why: `${provider} does not know the model "${model}"${code}.${pull}`, wrong: 'model' as const };
  }
  if (/(?:does not|doesn't|not) support(?:ed)? (?:tools|function)/iu.test(message)) {
    const why = `The model "${model}" cannot use tools, which the assistant needs.`;
    return { why, wrong: 'model' as const };
  }
  return { why: message, wrong: 'other' as const };
}
