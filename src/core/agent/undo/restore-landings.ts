import type { KeptLanding, Landing } from '../../landing/contract.ts';
import type { UndoItem } from '../../storage/undo-log.ts';

/**
 * Undoes what commands changed, the newest first, each command whole or not at all. `dry`: only says what would happen to each
 * path.
 */
export async function restoreLandings(
  landings: readonly KeptLanding[],
  landing: Pick<Landing, 'undo'>,
  { dry }: { readonly dry: boolean },
): Promise<readonly UndoItem[]> {
  const items = new Map<string, UndoItem>();
  const put = (paths: readonly string[], outcome: UndoItem['outcome'], reason = ''): void => {
    for (const name of paths) items.set(name, { kind: 'file', name, outcome, reason });
  };
  for (const { id, paths, state } of landings.toReversed()) {
    if (state === 'undone') continue;
    if (state === 'not-undoable') {
      put(paths, 'left', 'no copy of it was kept');
      continue;
    }
    if (dry) {
      put(paths, 'as-before');
      continue;
    }
    const undone = await landing.undo(id, new AbortController().signal);
    put(
      paths,
      undone.undone ? 'as-before' : 'left',
      undone.undone ? '' : `a command is undone as a whole or not at all, and ${undone.reason}`,
    );
    if (!undone.undone) put(undone.changed, 'left', 'it has changed since');
  }
  return [...items.values()];
}
