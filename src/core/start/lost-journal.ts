import type { Journal } from '../journal/journal.ts';
import type { Sessions } from '../session/sessions.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { failed, type Finding } from '../util/finding.ts';
import type { Ground } from '../assistant/base.ts';

/** What to say of a journal that was lost or emptied: it is new, although the home has conversations. Null: nothing was lost. */
export async function lostJournal(
  { paths, log }: Pick<Ground, 'paths' | 'log'>,
  { journal, sessions }: { readonly journal: Journal; readonly sessions: Sessions },
): Promise<Finding | null> {
  if (journal.messageCounts().in > 0) return null;
  const conversations = (await sessions.list()).length;
  if (conversations === 0) return null;
  log.error('start: the journal is new, but the home has conversations', { path: paths.state, conversations });
  return {
    id: 'store.journal',
    ...failed(
      `${paths.state} was lost or emptied, so I started with a new one. Conversations and memory are still there. Waiting messages, paired people, usage and the approval of scheduled jobs are gone.`,
      `To go back to a backup: ${assistantCommand('restore BACKUP')}. Otherwise approve the jobs again with /cron, and pair people again`,
    ),
    facts: { path: paths.state },
  };
}
