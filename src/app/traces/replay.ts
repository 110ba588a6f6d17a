import { createProviders } from '../../providers/registry.ts';
import { createRedactor } from '../../security/redact/redact.ts';
import type { Clock } from '../../util/clock.ts';
import { differenceOf, type Difference } from './difference.ts';
import { callsOf, rebuildFromLines } from './rebuild.ts';
import { redactJson } from './redact-lines.ts';
import { parseTrace } from './trace-file.ts';

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
 * Builds each request of a saved turn again with this program, from the trace alone, and compares it with the recorded
 * one. Throws an error of one sentence for a text that is no trace.
 */
export async function replayTrace(text: string, clock: Clock): Promise<Replay> {
  const { head, lines } = parseTrace(text);
  const redact = createRedactor([]);
  const configs = Object.fromEntries(
    Object.entries(head.providers).map(([name, facts]) => [name, { ...facts, apiKey: 'not-needed' }]),
  );
  const providers = createProviders({ configs, clock });
  const parts = new Map(lines.flatMap((line) => (line.kind === 'part' ? [[line.hash, line.text]] : [])));
  const entries = lines.flatMap((line) => (line.kind === 'entry' ? [line.entry] : []));
  const requests: ReplayedRequest[] = [];
  for (const [index, { note, call }] of callsOf(entries, head.turn).entries()) {
    for (const line of lines) {
      if (line.kind !== 'request' || line.note !== note) continue;
      const { attempt } = line;
      const which = { call: index + 1, attempt: attempt + 1 };
      const built = await rebuildFromLines({ call, attempt }, lines, (provider, request) =>
        providers.body(provider, request),
      );
      if ('reason' in built) {
        requests.push({ ...which, result: 'not-built', reason: built.reason });
        continue;
      }
      const layers = call.layers.map((hash) => parts.get(hash) ?? '');
      const difference = differenceOf(line.body, redactJson(built.body, redact), layers);
      if (difference !== null) requests.push({ ...which, result: 'differs', ...difference });
      else requests.push({ ...which, result: 'same', bytes: Buffer.byteLength(line.body) });
    }
  }
  return { turn: head.turn, version: head.version, requests, missing: head.missing };
}
