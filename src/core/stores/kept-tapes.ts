import type { App } from '../app.ts';
import { StoredTapes, type TapeStore } from '../session/stored-tapes.ts';
import { errorMessage } from '../util/errors.ts';
import { forgottenSessions } from '../stores/forgetting.ts';
import type { KeptHome } from '../../host/homes/kept-home.ts';

/**
 * Keeps the tapes in a store too: first the home gets what only the store has, and while the assistant works the store gets what
 * only the home has. `own`: what the program that runs the assistant gave; `kept`: what keeps the whole home, and then the
 * tapes too. Rejects with `tape-store-failed` when the store cannot be read.
 */
export async function keepTapes(
  app: App,
  { own, kept }: { readonly own: TapeStore | undefined; readonly kept: Pick<KeptHome, 'tapes' | 'probe'> | null },
): Promise<void> {
  const { paths, clock, log, plugins, stored, storage, sessions, closing } = app;
  const { tapeStore } = plugins;
  const store = kept?.tapes ?? own ?? tapeStore?.store;
  if (store === undefined) return;
  const given = own === undefined ? `the plugin ${JSON.stringify(tapeStore?.owner)}` : 'the given store of tapes';
  const owner = kept === null ? given : 'PostgreSQL';
  stored.tapes = new StoredTapes({
    store,
    owner,
    probeDatabase: kept?.probe,
    writeWithJournal: kept === null ? undefined : (part) => kept.tapes.writeWithJournal(part),
    directory: paths.sessions,
    quarantine: paths.quarantine,
    clock,
    log,
  });
  // What was taken out of tapes here must not come back from there: it gets them anew.
  for (const key of await forgottenSessions(app)) await stored.tapes.remove(key);
  await sessions.keepIn(stored.tapes);
  storage
    .untilWritten(() => sessions.catchUp(closing), { signal: closing, what: 'session: bring tapes to their store' })
    .catch((error: unknown) => {
      if (!closing.aborted) log.warn('session: tapes not brought to their store', { reason: errorMessage(error) });
    });
}
