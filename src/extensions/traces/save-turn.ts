import { presetOf } from '../../core/api-providers.ts';
import {
  entriesOfTurn,
  formatTrace,
  readTail,
  readTape,
  rebuildRequest,
  unknownTurn,
  type CallRecord,
  type LineOf,
  type TraceLine,
  type TraceProviders,
} from '../../core/api-replay.ts';
import { turnOf, type CallNote, type TapeEntry } from '../../core/api-tapes.ts';
import { AppError, type App } from '../../core/api.ts';
import type { SavedTurn } from './operation.ts';
import { redactDeep, redactJson } from './redact-lines.ts';

/**
 * Makes the trace of a turn from the tape and the stored prompts. Throws `turn-unknown`, and `turn-gone` when the tape was
 * deleted.
 */
export async function saveTurn(turn: string, app: App): Promise<SavedTurn> {
  const { config, program, paths, redact, version, promptParts, models } = app;
  const record = app.journal.turnRecords.find(turn);
  if (record === undefined) throw unknownTurn(turn);
  if ((await entriesOfTurn(paths.sessions, record)).length === 0)
    throw new AppError('turn-gone', `Of the turn ${turn} nothing is left: its conversation was deleted.`);
  const { session, startedAt } = record;
  const original = await entriesOf(paths.sessions, session, turn);
  const { notes: calls } = turnOf(original.filter((entry) => entry.turn === turn));
  const providers = redactDeep(providersOf(config.providers, calls), redact);
  const lines: TraceLine[] = [
    ...(await partsOf(calls, app)).map((line) => redactDeep(line, redact)),
    ...(await imagesOf(original, app)),
    ...original.map((entry): TraceLine => ({ kind: 'entry', entry: redactDeep(entry, redact) })),
  ];
  const missing = calls.length === 0 ? ['The turn has no recorded model call.'] : [];
  for (const [index, { id: note, call }] of calls.entries()) {
    for (const [attempt, { provider }] of call.attempts.entries()) {
      const where = `Model call ${index + 1}, attempt ${attempt + 1}: `;
      const exact = await rebuildRequest(call, attempt, {
        // oxlint-disable-next-line require-await -- a tape in memory
        backwards: async function* () {
          yield* original.toReversed();
        },
        promptParts,
        image: (hash) => app.media.image(hash),
        body: models.body,
      });
      if (!exact.ok) {
        missing.push(where + exact.reason);
        continue;
      }
      if (
        program.vendors[presetOf(program.presets, provider, config.providers[provider] ?? {}).api]?.isNotReplayed ===
        true
      ) {
        missing.push(`${where}Its request depends on what the server says of the model, so it is not replayed.`);
        continue;
      }
      const built = await rebuildFromLines({ call, attempt }, lines, models.body);
      if ('body' in built) lines.push({ kind: 'request', note, attempt, body: redactJson(built.body, redact) });
      else missing.push(where + built.reason);
    }
  }
  const head = { kind: 'trace', v: 1, version, turn, session: redact(session), startedAt, providers } as const;
  return {
    turn,
    text: formatTrace({ head: { ...head, missing: missing.map((sentence) => redact(sentence)) }, lines }),
    missing,
  };
}

/**
 * The history window before the turn, and all that was written while it ran, oldest first; none: its tape is gone. A trim or
 * a summary belongs to no turn: one that came while this turn ran hides nothing from its first call.
 */
async function entriesOf(folder: string, session: string, turn: string): Promise<readonly TapeEntry[]> {
  let found = false;
  let begun = false;
  const during: TapeEntry[] = [];
  const beforeTurn = async function* (): AsyncGenerator<TapeEntry> {
    for await (const entry of readTape(folder, session)) {
      if (begun) yield entry;
      found ||= entry.turn === turn;
      if (found && !begun) during.push(entry);
      begun ||= entry.turn === turn && entry.kind === 'turn-start';
    }
  };
  const { entries, windowFrom } = await readTail(beforeTurn());
  return [...entries.slice(windowFrom), ...during.reverse()];
}

function providersOf(configs: App['config']['providers'], calls: readonly CallNote[]): TraceProviders {
  const names = new Set(calls.flatMap(({ call }) => call.attempts.map(({ provider }) => provider)));
  return Object.fromEntries(
    [...names].map((name) => {
      const { kind, baseUrl, wire, extraBody } = configs[name] ?? {};
      return [
        name,
        {
          ...(typeof kind === 'string' ? { kind } : {}),
          ...(typeof baseUrl === 'string' ? { baseUrl } : {}),
          ...(wire === undefined ? {} : { wire }),
          ...(extraBody === undefined ? {} : { extraBody }),
        },
      ];
    }),
  );
}

async function partsOf(calls: readonly CallNote[], { promptParts }: App): Promise<readonly LineOf<'part'>[]> {
  const hashes = [...new Set(calls.flatMap(({ call }) => [...call.layers, call.tools]))];
  const texts = await Promise.all(hashes.map((hash) => promptParts.read(hash)));
  return hashes.flatMap((hash, index) => {
    const text = texts[index];
    return text === undefined ? [] : [{ kind: 'part', hash, text } as const];
  });
}

async function imagesOf(entries: readonly TapeEntry[], { media }: App): Promise<readonly LineOf<'image'>[]> {
  const hashes = new Set(
    entries.flatMap((entry) => {
      if (entry.kind !== 'message' || entry.role === 'assistant') return [];
      const images = entry.role === 'tool' ? (entry.images ?? []) : entry.content;
      return images.flatMap((part) => (part.type === 'image' ? [part.hash] : []));
    }),
  );
  const found = [...hashes].map(async (hash) => ({ hash, data: await media.image(hash)?.read() }));
  return (await Promise.all(found)).flatMap(({ hash, data }) =>
    data === undefined ? [] : [{ kind: 'image', hash, data } as const],
  );
}

/**
 * Builds the body of a request from the lines of a trace, without network and home. A sentence in `reason` where the
 * lines do not hold what it needs.
 */
async function rebuildFromLines(
  { call, attempt }: { readonly call: CallRecord; readonly attempt: number },
  lines: readonly TraceLine[],
  body: App['models']['body'],
): Promise<{ readonly body: string } | { readonly reason: string }> {
  const parts = new Map(lines.flatMap((line) => (line.kind === 'part' ? [[line.hash, line.text]] : [])));
  const images = new Map(lines.flatMap((line) => (line.kind === 'image' ? [[line.hash, line.data]] : [])));
  const entries = lines.flatMap((line) => (line.kind === 'entry' ? [line.entry] : [])).toReversed();
  let built: string | null = null;
  const rebuilt = await rebuildRequest(call, attempt, {
    // oxlint-disable-next-line require-await -- a tape in memory
    backwards: async function* () {
      yield* entries;
    },
    promptParts: { read: async (hash) => parts.get(hash) },
    image: (hash) => {
      const data = images.get(hash);
      if (data === undefined) return undefined;
      return { size: Buffer.byteLength(data, 'base64'), read: async () => data };
    },
    body: async (provider, request) => {
      built = await body(provider, request);
      return built;
    },
  });
  // Secrets are taken out of the lines, so the body may differ from the one that was sent.
  if (built !== null) return { body: built };
  return { reason: rebuilt.ok ? 'This request cannot be rebuilt: its provider sends none.' : rebuilt.reason };
}
