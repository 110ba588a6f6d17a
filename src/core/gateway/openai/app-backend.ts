import { textsOfEnded } from '../../agent/turn/answer-text.ts';
import { apiFactsOf } from '../../bus/api.ts';
import type { App } from '../../app.ts';
import type { ApiBackend, Embedder, TurnRecord } from './backend.ts';
import { embeddingServer, openEmbeddings } from '../../providers/embedding-server.ts';
import type { TapeEntry } from '../../session/entry.ts';
import { readTape } from '../../session/reader.ts';
import { imageType, MOST_IMAGE_BYTES } from '../../files/text.ts';
import { errorCode, errorMessage } from '../../util/errors.ts';

/** What programs reach through the API in the shapes of OpenAI's. */
export function createApi(app: App): ApiBackend {
  const { journal, media } = app;
  return {
    find: (key) => {
      const place = journal.places.find(key);
      if (place === undefined) return undefined;
      const { light = false, json = false } = apiFactsOf(journal.inbox.byId([place.id])[0]) ?? {};
      return { ...place, light, json };
    },
    ended: (session, turnId) => endedTurn(app.paths.sessions, session, turnId),
    keepImage: async (bytes) => {
      const mediaType = bytes.byteLength > MOST_IMAGE_BYTES ? undefined : imageType(bytes);
      if (mediaType === undefined) return null;
      const hash = await media.put(bytes);
      return { hash, mediaType, path: media.pathOf(hash) };
    },
    embedder: () => embedderOf(app),
  };
}

/** The model of `memory.embeddings`; null: it is not set. What keeps it from being asked is told by its first call. */
function embedderOf({ config, program, clock, redact }: App): Embedder | null {
  const server = embeddingServer(config, program);
  if (server === null) return null;
  const { provider, model } = config.memory.embeddings;
  return {
    name: `${provider ?? 'embeddings'}/${model ?? ''}`,
    embed: async (texts, options) => {
      if (typeof server === 'string') throw new Error(server);
      try {
        const dimensions = options.dimensions ?? server.dimensions ?? undefined;
        return await openEmbeddings(server, clock)(texts, { ...options, dimensions });
      } catch (error) {
        throw new Error(redact(errorMessage(error)), { cause: error });
      }
    },
  };
}

/** How a turn ended, from the tape of its session; null: it has not, or the tape is gone. */
async function endedTurn(directory: string, session: string, turnId: string): Promise<TurnRecord | null> {
  const entries: TapeEntry[] = [];
  try {
    for await (const entry of readTape(directory, session)) {
      if (entry.turn === turnId) entries.push(entry);
      // Ids sort by time: what is older than the turn does not belong to it.
      else if (entry.id < turnId) break;
    }
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
  entries.reverse();
  const end = entries.findLast((entry) => entry.kind === 'turn-end');
  if (end === undefined) return null;
  const texts = textsOfEnded(entries, end);
  const outcome = end.outcome === 'failed' || end.outcome === 'stopped' ? end.outcome : 'answered';
  return {
    outcome,
    text: texts.join('\n\n'),
    last: texts.at(-1) ?? '',
    reason: outcome === 'answered' ? '' : end.answer,
    usage: end.usage,
  };
}
