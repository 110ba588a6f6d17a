import type { GitKeeper, TakenBack } from '../../core/api-commands.ts';
import { type ToolContext, escapeControlChars } from '../../core/api-tools.ts';

/** A longer question would not be read. */
const LONGEST_QUESTION = 4_000;

/** Does something while no one plants programs for the owner's git; says what was undone. */
export async function whileWatched<T>(
  git: GitKeeper | undefined,
  work: () => Promise<T>,
): Promise<{ readonly outcome: T; readonly undone: readonly TakenBack[] }> {
  const watch = await git?.begin();
  let undone: readonly TakenBack[] = [];
  let outcome: T;
  try {
    outcome = await work();
  } finally {
    undone = (await watch?.end()) ?? [];
  }
  return { outcome, undone };
}

/**
 * Asks whether what a command made git run, and what was undone, may be put back. Returns what the model is to know of
 * it, in sentences; none when nothing was undone.
 */
export async function askToPutBack(
  undone: readonly TakenBack[],
  git: GitKeeper | undefined,
  { people }: Pick<ToolContext, 'people'>,
): Promise<readonly string[]> {
  if (undone.length === 0 || git === undefined) return [];
  const lines = undone.flatMap(({ path, runs }) => runs.map((one) => `${path}: ${one}`));
  const detail = escapeControlChars(lines.join('\n'));
  if (detail.length > LONGEST_QUESTION) return undoneNotes(undone);
  const title = 'Let git run what a command wrote';
  const reason = 'this conversation holds text from strangers, and git would run this outside the sandbox';
  const answer = await people.approve({ title, detail, reason }).catch(() => ({ approved: false }) as const);
  if (!answer.approved) return undoneNotes(undone);
  const changed = await git.allow(undone);
  return changed.length === 0
    ? ['The owner was asked and allowed what the command made git run.']
    : [`Not put back, because it changed meanwhile: ${changed.map(escapeControlChars).join(', ')}.`];
}

/** What the model is to know where no one is asked; sentences. */
export function undoneNotes(undone: readonly TakenBack[]): readonly string[] {
  if (undone.length === 0) return [];
  const places = [...new Set(undone.map(({ path }) => escapeControlChars(path)))];
  return [
    `What it wrote in ${places.join(', ')} would make git run a program on the owner's machine, outside the sandbox. This conversation holds text from strangers, so that was undone. Everything else that the command did stays. If the owner needs it, tell the owner what to write there.`,
  ];
}
