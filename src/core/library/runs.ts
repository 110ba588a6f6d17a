import { resolve } from 'node:path';
import { followed, toolsOf, type LiveTurn } from '../bus/live-turn.ts';
import { sessionKeyOf, type TurnSummary } from '../bus/messages.ts';
import type { App } from '../app.ts';
import type { AssistantPort } from '../gateway/assistant-port.ts';
import { externalIdOf, streamOf } from '../gateway/local-assistant.ts';
import { MODEL_ERROR_KINDS } from '../providers/provider.ts';
import type { TapeEntry } from '../session/entry.ts';
import { turnOf } from '../session/turns.ts';
import type { MediaStore } from '../storage/media.ts';
import { imageType } from '../files/text.ts';
import { AppError } from '../util/errors.ts';
import type { Stores } from '../stores/stores.ts';
import type { RunErrorKind, RunOptions, RunResult, Runs, RunStream, SentFile } from './run.ts';
import { toolCallsOf } from './tool-calls.ts';

/** Runs turns for a program, and tells it what they did. */
export function createRuns(app: App, port: Pick<AssistantPort, 'open'>): Runs {
  const { sessions, journal, media, newId, clock } = app;
  const resultOf = async (
    summary: TurnSummary,
    { turnId, sessionKey }: Pick<RunResult, 'turnId' | 'sessionKey'>,
    live?: LiveTurn,
  ): Promise<RunResult> => {
    const hasTape = turnId !== null && summary.outcome !== 'command';
    const entries = hasTape ? await entriesOf(sessions, { turnId, sessionKey }) : [];
    const { model, errorKind } = summary;
    return {
      ...summary,
      turnId,
      sessionKey,
      provider: model?.split('/', 1)[0] ?? null,
      errorKind: errorKind === null ? null : kindOf(errorKind),
      media: turnId === null ? [] : filesOf(journal, turnId),
      toolCalls: toolCallsOf(turnOf(entries), live === undefined ? [] : toolsOf(live)),
    };
  };

  async function* stream(text: string, options: RunOptions = {}): RunStream {
    const { signal, onApproval, id = newId(), session = 'main', images = [], ...asked } = options;
    const input = { ...asked, id, text, images: await pathsOf(images, media) };
    const turns = new Map<string, LiveTurn>();
    const events = streamOf(port, session, {
      input,
      // As they happen, however slowly they are read below.
      onEvent: (event) => turns.set(event.turnId, followed(turns.get(event.turnId), event, clock.monotonic())),
      ...(signal === undefined ? {} : { signal }),
      ...(onApproval === undefined ? {} : { onApproval }),
    });
    let sessionKey = sessionKeyOf({ channel: 'terminal', chatId: session });
    let own: RunResult | undefined;
    for (;;) {
      const next = await events.next();
      if (next.done === true) return own ?? (await resultOf(next.value, { turnId: null, sessionKey }));
      const event = next.value;
      ({ sessionKey } = event);
      // After the end of the turn it waits until the answer is marked as delivered.
      if (own !== undefined) continue;
      if (event.type !== 'turn-end') yield event;
      else if (event.answers.includes(externalIdOf(id))) {
        own = await resultOf(event.result, event, turns.get(event.turnId));
        yield { ...event, result: own };
      }
    }
  }

  return {
    stream,
    run: async (text, options) => {
      const events = stream(text, options);
      for (;;) {
        const next = await events.next();
        if (next.done === true) return next.value;
      }
    },
  };
}

function kindOf(kind: string): RunErrorKind {
  if (kind === 'limit' || kind === 'denied') return kind;
  return MODEL_ERROR_KINDS.find((known) => known === kind) ?? 'other';
}

/** What the tape has of a turn; nothing where it cannot be read, which the answer says then. */
async function entriesOf(
  sessions: Stores['sessions'],
  { turnId, sessionKey }: { readonly turnId: string; readonly sessionKey: string },
): Promise<readonly TapeEntry[]> {
  try {
    return (await sessions.open(sessionKey, { turn: turnId })).turn(turnId);
  } catch {
    return [];
  }
}

function filesOf({ outbox }: Stores['journal'], turnId: string): readonly SentFile[] {
  return outbox.filesOf(turnId).map(({ path, name = '', kind, mediaType }) => ({ path, name, kind, mediaType }));
}

/** Absolute paths of images; bytes are kept in the home first. Throws `run-invalid` for bytes that are no image. */
async function pathsOf(images: readonly (string | Uint8Array)[], media: MediaStore): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const [n, image] of images.entries()) {
    if (typeof image !== 'string' && imageType(image) === undefined) {
      throw new AppError(
        'run-invalid',
        `images[${n}] must be a PNG, JPEG, GIF or WebP image, but other bytes were given.`,
      );
    }
    paths.push(typeof image === 'string' ? resolve(image) : await media.keep(image));
  }
  return paths;
}
