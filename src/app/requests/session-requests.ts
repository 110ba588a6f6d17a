import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../../core/app.ts';
import type { RequestHandlers } from '../../core/gateway/operations/operations.ts';
import { searchByQuestion } from '../../core/memory/time/search-by-question.ts';
import { tapeName } from '../../core/session/tape-name.ts';
import { ifThere } from '../../core/storage/files.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError } from '../../core/util/errors.ts';
import { shellWord } from '../../core/util/text.ts';
import { exportSession } from './session-export.ts';
import { SessionIndex } from './session-index.ts';
import { unknownSession } from './session-log.ts';

const MOST_EXPORT_BYTES = 50_000_000;

/** What a person may ask about conversations. */
export function sessionRequests(
  app: App,
): Pick<RequestHandlers, 'sessionsList' | 'sessionsExport' | 'sessionsSearch' | 'sessionsDelete'> {
  const { journal, search, editors } = app;
  const folder = app.paths.sessions;
  const index = new SessionIndex(folder, () => new Set(journal.turns.open().map(({ session }) => session)));
  return {
    sessionsList: (page) => index.page(page),
    sessionsExport: async ({ session, format }) => {
      const tape = await ifThere(stat(join(folder, tapeName(session))));
      if (tape !== undefined && tape.size > MOST_EXPORT_BYTES) throw tooLarge(session);
      const name = `${tapeName(session).replace(/\.jsonl$/u, '')}.${format}`;
      return { name, text: await exportSession(folder, { session, format, timezone: app.config.agent.timezone }) };
    },
    sessionsSearch: async ({ text, count, session }) => {
      const scope = session === undefined ? ('all' as const) : [session];
      const query = { text, limit: count, scope };
      const { timezone } = app.config.agent;
      const { hits, time } = await searchByQuestion(search, query, { now: app.clock.now(), timezone });
      return hits.map(({ source, session: in_ = null, at = null, role = null, snippet }) => ({
        source,
        session: in_,
        at,
        role,
        snippet,
        ofAnyTime: time?.isMissed === true,
      }));
    },
    sessionsDelete: async ({ session }) => {
      const isBusy =
        journal.turns.open().some((turn) => turn.session === session) || journal.inbox.waiting(session, 1).length > 0;
      if (isBusy) {
        throw new AppError(
          'session-busy',
          `${session} has a turn that runs or waits. Stop it with /stop in that conversation, then delete it.`,
        );
      }
      const isEditors = editors.of(session) !== undefined;
      await editors.forget(session);
      if ((await app.sessions.delete(session)) || isEditors) {
        await journal.feed.forget(session);
        const failures = await app.plugins.forget(session);
        search.scheduleSync();
        if (failures.length > 0)
          throw new AppError(
            'session-kept',
            `The conversation is deleted, but not all that belongs to it. ${failures.join(' ')}`,
          );
        return null;
      }
      throw unknownSession(session);
    },
  };
}

function tooLarge(session: string): AppError {
  const command = assistantCommand(`sessions export ${shellWord(session)}`);
  return new AppError(
    'session-too-large',
    `The conversation is larger than 50 MB. Export it in a terminal: ${command} > conversation.md`,
  );
}
