import { realFile } from '../../memory/files/memory-file.ts';
import type { App } from '../../app.ts';
import type { RestoredThing } from '../../extension.ts';
import type { ChangeLog, RecordedChange } from '../../storage/change-log.ts';
import type { UndoItem } from '../../storage/undo-log.ts';
import { restoreFiles } from './restore-files.ts';
import { restoreLandings } from './restore-landings.ts';
import { errorMessage } from '../../util/errors.ts';
import type { TurnPlace } from './undo.ts';

/** Restores what these turns changed, oldest first. Done twice it does nothing more; `dry` only says what it would do. */
export async function restore(
  { changes, marks, memory, search, editors, guard, plugins, landing }: App,
  turns: readonly TurnPlace[],
  { dry }: { readonly dry: boolean },
): Promise<readonly UndoItem[]> {
  const landings = turns.flatMap(({ session, turn }) => landing.ofTurn(session, turn));
  const byCommands = await restoreLandings(landings, landing, { dry });
  const made = (await Promise.all(turns.map(({ session, turn }) => changes.of(session, turn)))).flat();
  const jobs = (await Promise.all(turns.map(({ session, turn }) => changes.jobsOf(session, turn)))).flat();
  const memoryPath = await realFile(memory.path);
  const facts = await factChanges(
    made.filter(({ path }) => path === memoryPath),
    changes,
  );
  const others = facts === null ? made : made.filter(({ path }) => path !== memoryPath);
  const roots = turns.map(({ session }) => editors.folderOf(session)).filter((folder) => folder !== undefined);
  const files = await restoreFiles(others, { guard, copies: changes, marks, roots, dry });
  const taken = facts === null || facts.length === 0 ? [] : await memory.takeBack(facts, { dry }).catch(leftAll);
  if (!dry && taken.length > 0) search.scheduleSync();
  const [part] = plugins.each('undo').map(([, undo]) => undo);
  const restored: readonly RestoredThing[] = await (
    part?.restore(jobs, dry) ?? Promise.reject(new Error('what made them is switched off'))
  ).catch((error: unknown) => {
    const ids = [...new Set(jobs.map(({ job }) => job))];
    return ids.map((job) => ({ job, outcome: 'left' as const, reason: errorMessage(error) }));
  });
  const named = new Set(byCommands.map(({ name }) => name));
  return [
    ...byCommands,
    // A file that a command changed after a tool is as the tool left it once the command is undone.
    ...files
      .filter(({ path, outcome }) => !named.has(path) || (!dry && outcome !== 'left'))
      .map(({ path, outcome, reason }) => ({ kind: 'file' as const, name: path, outcome, reason })),
    ...taken.map(({ fact, outcome, reason }) => ({ kind: 'memory' as const, name: fact, outcome, reason })),
    ...restored.map(({ job, outcome, reason }) => ({ kind: 'job' as const, name: job, outcome, reason })),
  ];
}

function leftAll(error: unknown): readonly { fact: string; outcome: 'left'; reason: string }[] {
  return [{ fact: 'MEMORY.md', outcome: 'left', reason: errorMessage(error) }];
}

/** The texts before and after each change of MEMORY.md; null: one was not kept, so it is restored as any other file. */
async function factChanges(
  recorded: readonly RecordedChange[],
  changes: ChangeLog,
): Promise<readonly { readonly before: Uint8Array | null; readonly after: Uint8Array }[] | null> {
  // A call that was begun twice counts once: its last attempt is the one that was made.
  const last = new Map(recorded.map((change) => [change.call, change]));
  const texts: { before: Uint8Array | null; after: Uint8Array }[] = [];
  for (const { before, after } of last.values()) {
    const [old, made] = await Promise.all([
      before?.hash == null ? null : changes.copy(before.hash),
      after === null ? undefined : changes.copy(after),
    ]);
    if (made === undefined || old === undefined || (before !== null && old === null)) return null;
    texts.push({ before: old, after: made });
  }
  return texts;
}
