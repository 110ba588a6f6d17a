import type { MessageEntry } from '../../session/entry.ts';
import type { Session } from '../../session/session.ts';
import type { EarlierFetch } from '../../tools/tool.ts';
import { parse } from './provenance.ts';

/**
 * The URLs of all calls in this conversation before the call `callId`, oldest first. Calls of the same message and of the
 * same batch, which run in parallel, count too, and so do calls that failed, because they may have reached the server.
 */
export function earlierFetches(session: Pick<Session, 'window'>, callId: string): readonly EarlierFetch[] {
  const results = new Map(
    session.window.flatMap((entry) =>
      entry.kind === 'message' && entry.role === 'tool' ? [[entry.callId, entry] as const] : [],
    ),
  );
  const found: EarlierFetch[] = [];
  for (const entry of session.window) {
    if (entry.kind !== 'message' || entry.role !== 'assistant') continue;
    for (const part of entry.content) {
      if (part.type !== 'tool-call') continue;
      for (const { id, url } of fetchesIn(part)) {
        if (id === callId) return found;
        found.push(asFetch(url, id, results.get(id)));
      }
    }
  }
  return found;
}

function asFetch(url: string, id: string, result: Extract<MessageEntry, { role: 'tool' }> | undefined): EarlierFetch {
  // A page that was read is in the cache, so fetching it again sends no request. A failed fetch would send one each time.
  const isShown = result !== undefined && !result.isError;
  return { url, once: isShown ? url : id, approved: result?.approved === true };
}

interface Call {
  readonly callId: string;
  readonly arguments: string;
}

function fetchesIn({ callId, arguments: given }: Call): readonly { readonly id: string; readonly url: string }[] {
  const args = parse(given);
  const own = urlOf(args);
  const calls = isRecord(args) && Array.isArray(args['calls']) ? args['calls'] : [];
  const inner = calls.flatMap((call: unknown, at) => {
    const url = isRecord(call) ? urlOf(call['arguments']) : undefined;
    return url === undefined ? [] : [{ id: `${callId}.${at + 1}`, url }];
  });
  return [...(own === undefined ? [] : [{ id: callId, url: own }]), ...inner];
}

function urlOf(args: unknown): string | undefined {
  const url = isRecord(args) ? args['url'] : undefined;
  return typeof url === 'string' ? url : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
