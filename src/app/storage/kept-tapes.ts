import { StoredTapes, type TapeStore } from '../../session/stored-tapes.ts';
import type { Sessions } from '../../session/sessions.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Base } from '../base.ts';
import { forgottenSessions } from './forgetting.ts';

/**
 * Keeps the tapes in a store too: first the home gets what only the store has, and while the assistant works the store gets what
 * only the home has. Rejects with `tape-store-failed` when the store cannot be read.
 */
export async function keepTapes(
  base: Pick<Base, 'paths' | 'clock' | 'log' | 'plugins' | 'stored' | 'storage'>,
  sessions: Sessions,
  { own, closing }: { readonly own: TapeStore | undefined; readonly closing: AbortSignal },
): Promise<void> {
  const { paths, clock, log, plugins, stored, storage } = base;
  const { tapeStore } = plugins;
  const store = own ?? tapeStore?.store;
  if (store === undefined) return;
  const owner = own === undefined ? `the plugin ${JSON.stringify(tapeStore?.owner)}` : 'the given store of tapes';
  stored.tapes = new StoredTapes({
    store,
    owner,
    directory: paths.sessions,
    quarantine: paths.quarantine,
    clock,
    log,
  });
  // What was taken out of tapes here must not come back from there: it gets them anew.
  for (const key of await forgottenSessions(base)) await stored.tapes.remove(key);
  await sessions.keepIn(stored.tapes);
  storage
    .untilWritten(() => sessions.catchUp(closing), { signal: closing, what: 'session: bring tapes to their store' })
    .catch((error: unknown) => {
      if (!closing.aborted) log.warn('session: tapes not brought to their store', { reason: errorMessage(error) });
    });
}
