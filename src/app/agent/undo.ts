import { Undo, type TurnPlace } from '../../agent/undo/undo.ts';
import { realFile } from '../../memory/files/memory-file.ts';
import type { RecordedChange } from '../../storage/change-log.ts';
import type { UndoItem } from '../../storage/undo-log.ts';
import { changedBetween } from '../../tools/files/changed-between.ts';
import { restoreFiles } from '../../tools/files/restore-files.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Automation } from '../automation/automation.ts';
import type { Base } from '../base.ts';
import type { Stores } from '../storage/stores.ts';
import type { Tools } from '../tools/tools.ts';

interface UndoParts {
  readonly stores: Pick<Stores, 'sessions' | 'changes' | 'undone' | 'memory'> & {
    readonly editors: Pick<Stores['editors'], 'folderOf'>;
    readonly journal: { readonly subagents: Pick<Stores['journal']['subagents'], 'ofTurn'> };
    readonly search: Pick<Stores['search'], 'scheduleSync'>;
  };
  readonly tools: {
    readonly guard: Tools['guard'];
    readonly registry: Pick<Tools['registry'], 'named'>;
  };
  readonly automation: Pick<Automation, 'restoreJobs'>;
}

/** Joins the undo of turns with what they change: files, the memory, scheduled jobs. */
export function createUndo(
  { clock, paths }: Pick<Base, 'clock'> & { readonly paths: Pick<Base['paths'], 'workspace'> },
  parts: UndoParts,
): Undo {
  const { stores, tools } = parts;
  const { journal, sessions, changes } = stores;
  return new Undo({
    openSession: (sessionKey) => sessions.open(sessionKey),
    subagents: (turn) =>
      journal.subagents.ofTurn(turn).map(({ turnId, message }) => ({ session: message.sessionKey, turn: turnId })),
    restore: (turns, { dry }) => restore(turns, parts, dry),
    recorded: async (turns) => {
      const lists = await Promise.all(
        turns.flatMap(({ session, turn }) => [changes.of(session, turn), changes.jobsOf(session, turn)]),
      );
      return new Set(lists.flatMap((list) => list.map(({ call }) => call)));
    },
    changedBetween: (spans) => changedBetween(paths.workspace, spans),
    tool: (name) => tools.registry.named(name),
    log: stores.undone,
    now: () => clock.now(),
  });
}

async function restore(
  turns: readonly TurnPlace[],
  { stores, tools, automation }: UndoParts,
  dry: boolean,
): Promise<readonly UndoItem[]> {
  const { changes, memory, search } = stores;
  const made = (await Promise.all(turns.map(({ session, turn }) => changes.of(session, turn)))).flat();
  const jobs = (await Promise.all(turns.map(({ session, turn }) => changes.jobsOf(session, turn)))).flat();
  const memoryPath = await realFile(memory.path);
  const facts = await factChanges(
    made.filter(({ path }) => path === memoryPath),
    changes,
  );
  const others = facts === null ? made : made.filter(({ path }) => path !== memoryPath);
  const roots = turns.map(({ session }) => stores.editors.folderOf(session)).filter((folder) => folder !== undefined);
  const files = await restoreFiles(others, { guard: tools.guard, copies: changes, roots, dry });
  const taken = facts === null || facts.length === 0 ? [] : await memory.takeBack(facts, { dry }).catch(leftAll);
  if (!dry && taken.length > 0) search.scheduleSync();
  const restored = await automation.restoreJobs(jobs, dry).catch((error: unknown) => {
    const ids = [...new Set(jobs.map(({ job }) => job))];
    return ids.map((job) => ({ job, outcome: 'left' as const, reason: errorMessage(error) }));
  });
  return [
    ...files.map(({ path, outcome, reason }) => ({ kind: 'file' as const, name: path, outcome, reason })),
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
  changes: Stores['changes'],
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
