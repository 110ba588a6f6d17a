import * as z from 'zod';
import { withoutImages } from '../../providers/wrappers/image-fallback.ts';
import { withinImageBudget } from '../../providers/images.ts';
import type { ModelRequest, ToolChoice, ToolSpec } from '../../providers/provider.ts';
import type { CallRecord, TapeEntry } from '../../session/entry.ts';
import { foldHistory, type FoldOptions } from '../../session/history.ts';
import { readTail } from '../../session/tape-tail.ts';
import { hashOfText, type PromptParts } from '../../storage/prompt-parts.ts';
import { errorMessage } from '../../util/errors.ts';

export interface RebuildSources extends FoldOptions {
  /** Reads the whole tape, newest entry first. */
  readonly backwards: () => AsyncIterable<TapeEntry>;
  readonly promptParts: Pick<PromptParts, 'read'>;
  /** The JSON body of a request at a provider, with the present configuration; null: it sends none. May reject with one sentence. */
  readonly body: (provider: string, request: ModelRequest) => Promise<string | null>;
}

/** `body`: exactly the bytes that were sent. When they cannot be rebuilt exactly, `reason` says why in one sentence. */
export type Rebuilt =
  | { readonly ok: true; readonly request: ModelRequest; readonly body: string }
  | { readonly ok: false; readonly reason: string };

const toolList = z.array(
  z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
);
type Attempt = CallRecord['attempts'][number];

const reasonings = z.enum(['off', 'low', 'medium', 'high']);

/** Rebuilds the request of a recorded model call from the tape and the stored prompts; `attempt` counts from 0. */
export async function rebuildRequest(call: CallRecord, attempt: number, sources: RebuildSources): Promise<Rebuilt> {
  const sent = call.attempts[attempt];
  if (sent === undefined || sent.body === null) return not('nothing was sent in this attempt');
  if (call.changed === true) return not('a plugin had changed the messages, and what it made of them is not kept');
  const layers = await Promise.all(call.layers.map((hash) => sources.promptParts.read(hash)));
  const system = layers.filter((layer) => layer !== undefined);
  if (system.length < layers.length) return not('a layer of its system prompt is not kept any more');
  const tools = await readTools(call.tools, sources.promptParts);
  if (tools === null) return not('its list of tools is not kept any more');
  const entries = await windowAt(call.after, sources.backwards());
  if (entries === null) return not('the tape does not reach back to it any more');
  const messages = withinImageBudget(foldHistory(entries.toReversed(), sources).messages.map(({ message }) => message));
  const { maxOutputTokens, temperature } = call;
  const whole: ModelRequest = {
    model: sent.model,
    system,
    messages,
    tools,
    toolChoice: choiceOf(call.toolChoice),
    maxOutputTokens,
    ...(temperature === undefined ? {} : { temperature }),
    reasoning: reasonings.safeParse(sent.reasoning).data ?? 'off',
  };
  const request = changedAsSent(whole, sent);
  try {
    const body = await sources.body(sent.provider, request);
    if (body !== null && hashOfText(body) === sent.body) return { ok: true, request, body };
    return not(
      'what is built now differs from what was sent: the settings of the provider or this program changed, or an image is gone',
    );
  } catch (error) {
    return not(errorMessage(error));
  }
}

/** The request as an attempt sent it: changed for its model and its server. */
export function changedAsSent(request: ModelRequest, { withoutImages: isBlind, quirks = [] }: Attempt): ModelRequest {
  return { ...(isBlind === true ? withoutImages(request) : request), quirks };
}

/** The history window as it was when `newest` was the last entry; null when that entry is not on the tape. */
async function windowAt(newest: string, backwards: AsyncIterable<TapeEntry>): Promise<readonly TapeEntry[] | null> {
  let found = false;
  const tail = await readTail(
    (async function* () {
      for await (const entry of backwards) {
        found ||= entry.id === newest;
        if (found) yield entry;
      }
    })(),
  );
  return found ? tail.entries.slice(tail.windowFrom) : null;
}

async function readTools(hash: string, parts: RebuildSources['promptParts']): Promise<readonly ToolSpec[] | null> {
  const text = await parts.read(hash);
  return text === undefined ? null : (toolList.safeParse(JSON.parse(text)).data ?? null);
}

function choiceOf(choice: CallRecord['toolChoice']): ToolChoice {
  if (typeof choice === 'object') return choice;
  return choice === 'none' ? 'none' : 'auto';
}

function not(reason: string): Rebuilt {
  return { ok: false, reason: `This request cannot be rebuilt: ${reason}.` };
}
