import { join } from 'node:path';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import type { Session } from '../../src/core/session/session.ts';
import { Sessions } from '../../src/core/session/sessions.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { fileTools, type FileTools } from '../support/file-tools.ts';

/** Real sessions and real file tools over one temporary home. */
export interface SessionsWorld extends AsyncDisposable {
  readonly files: FileTools;
  readonly sessions: Sessions;
  /** The session that the file tools work for. */
  readonly session: Session;
  append(...drafts: readonly EntryDraft[]): Promise<void>;
}

export const SESSION = 'terminal:test';

export async function sessionsWorld(): Promise<SessionsWorld> {
  await using stack = new AsyncDisposableStack();
  const files = stack.use(await fileTools());
  const sessions = new Sessions({
    directory: join(files.home, 'sessions'),
    quarantine: join(files.home, 'quarantine'),
    clock: files.clock,
    newId: createIds(files.clock, systemRandom),
    log: silentLog,
  });
  stack.defer(() => sessions.close());
  const session = await sessions.open(SESSION);
  const owned = stack.move();
  return {
    files,
    sessions,
    session,
    append: async (...drafts) => void (await session.append(drafts)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** What the history says, one line per message. */
export function historyText(session: Session): string {
  return JSON.stringify(session.history().messages.map(({ message }) => message));
}
