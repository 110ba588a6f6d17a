import { rebuildRequest } from '../../core/agent/turn/rebuild-request.ts';
import type { App } from '../../core/app.ts';
import { presetOf } from '../../core/providers/open-provider.ts';
import type { TapeEntry } from '../../core/session/entry.ts';
import { readTape } from '../../core/session/reader.ts';
import { readTail } from '../../core/session/tape-tail.ts';
import { callsOf, rebuildFromLines, type RecordedCall } from './rebuild.ts';
import { redactDeep, redactJson } from './redact-lines.ts';
import { formatTrace, type LineOf, type TraceLine, type TraceProviders } from './trace-file.ts';

/**
 * One turn as the text of a trace file, made from the tape and the stored prompts, without secrets. `missing`: what
 * cannot be replayed, one sentence each.
 */
export async function saveTurn(
  record: { readonly id: string; readonly session: string; readonly startedAt: number },
  app: App,
): Promise<{ readonly text: string; readonly missing: readonly string[] }> {
  const { config, program, paths, redact, version, promptParts, models } = app;
  const { id: turn, session, startedAt } = record;
  const original = await entriesOf(paths.sessions, session, turn);
  const calls = callsOf(original, turn);
  const providers = redactDeep(providersOf(config.providers, calls), redact);
  const lines: TraceLine[] = [
    ...(await partsOf(calls, app)).map((line) => redactDeep(line, redact)),
    ...(await imagesOf(original, app)),
    ...original.map((entry): TraceLine => ({ kind: 'entry', entry: redactDeep(entry, redact) })),
  ];
  const missing = calls.length === 0 ? ['The turn has no recorded model call.'] : [];
  for (const [index, { note, call }] of calls.entries()) {
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

function providersOf(configs: App['config']['providers'], calls: readonly RecordedCall[]): TraceProviders {
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

async function partsOf(calls: readonly RecordedCall[], { promptParts }: App): Promise<readonly LineOf<'part'>[]> {
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
