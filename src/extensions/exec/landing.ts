import { open } from 'node:fs/promises';
import { constants } from 'node:fs';
import {
  changedBetween,
  judgeGit,
  type Changes,
  type Landing,
  type Marks,
  type Verdict,
} from '../../core/api-commands.ts';
import { previewOf, type ToolContext, escapeControlChars, imageType } from '../../core/api-tools.ts';
import { AppError, plural, sentences } from '../../core/api.ts';
import { runCommand, type CommandOptions, type CommandOutcome } from './run.ts';

/** A command that runs on a view. */
export interface LandedCommand {
  readonly command: string;
  /** Why changes of some kinds need approval: a clause. */
  readonly why: string;
  readonly run: Omit<CommandOptions, 'signal'>;
  readonly context: Pick<ToolContext, 'call' | 'people'>;
  readonly busyFolders: () => readonly string[];
  /** Called when the command has ended and its changes haven't landed: a question about them can wait for hours. */
  readonly onEnd: () => void;
}

/** What became of a command on a view. */
export interface Landed {
  readonly outcome: CommandOutcome;
  /** For the model; sentences. */
  readonly notes: readonly string[];
  /** False if the command's changes were discarded. */
  readonly hasLanded: boolean;
  /** For people: the lines that it changed. */
  readonly diff?: string;
}

/** Nobody would read a longer question. */
const LONGEST_QUESTION = 4_000;
/** A question lists at most this many paths of each kind. */
const MOST_LISTED = 40;
/** The diff shows at most this many of the changed files. */
const MOST_SHOWN = 20;
const MOST_SHOWN_BYTES = 64 * 1024;
/** What programs say when they rename an existing folder on a view. */
const RENAME_FAILED = /\bEXDEV\b|Invalid cross-device link/u;
/** Undo copies are kept for so long. */
const UNDO_MS = 90 * 86_400_000;
const MEANWHILE = `${nothingKept('the workspace changed while they were judged')} Run the command again.`;
const RENAME_NOTE =
  'Programs can’t rename existing folders here. Use mv, which copies instead; in a git repository: mv, then git add -A.';

/**
 * Runs a command on a copy-on-write view, so that its changes land whole or not at all, and marks what it changed. Rejects as
 * `runCommand` does; then nothing has landed.
 */
export async function runOnView(
  { command, why, run, context, busyFolders, onEnd }: LandedCommand,
  { landing, marks }: { readonly landing: Pick<Landing, 'open'>; readonly marks: Marks | undefined },
  signal: AbortSignal,
): Promise<Landed> {
  await using view = await landing.open({ signal });
  const full = new AbortController();
  using _watch = view.watch(() =>
    full.abort(
      new AppError(
        'view-full',
        'The command was ended because its changes took too much space. None of them were kept.',
      ),
    ),
  );
  const { program } = run;
  const environment = { ...program.environment, GIT_OPTIONAL_LOCKS: '0' };
  const outcome = await runCommand({
    ...run,
    program: { ...program, environment, mounts: view.over(program.mounts), view: view.mount },
    signal: AbortSignal.any([signal, full.signal]),
  });
  onEnd();
  const hints = RENAME_FAILED.test(outcome.output) ? [RENAME_NOTE] : [];
  // A process that still runs could write to what has landed.
  if (!outcome.isClean) return { outcome, hasLanded: false, notes: [nothingKept('a process of it may still run')] };
  if (outcome.wasEnded) return { outcome, hasLanded: false, notes: [...hints, nothingKept('it was ended early')] };
  let diff = '';
  let approved = '';
  const { sessionKey: session, turnId: turn, id: callId } = context.call;
  const result = await view.land({
    judge: async (changes, stop, again) => {
      if (!again) diff = await diffOf(changes);
      const question = await questionAbout(changes, stop);
      if (question.detail === approved) return { lands: true };
      if (again) return { lands: false, reason: MEANWHILE };
      const verdict = await ask(question, { why, people: context.people, signal: stop });
      approved = question.detail;
      return verdict;
    },
    commit: (changes) => {
      const old = changes.paths.filter(({ how }) => how === 'removed' || how === 'changed');
      marks?.holdBelow(
        old.map(({ path }) => path),
        UNDO_MS,
      );
      marks?.mark(changes.marks, 'outside');
    },
    busyFolders,
    session,
    turn,
    callId,
    command,
    signal,
  });
  if ('notLanded' in result) return { outcome, hasLanded: false, notes: [...hints, result.notLanded] };
  const { paths, canUndo } = result.landed;
  const lasting = paths.length > 0 && !canUndo ? ['What it changed can’t be undone with /undo.'] : [];
  return { outcome, hasLanded: true, notes: [...hints, ...lasting], ...(diff === '' ? {} : { diff }) };
}

/** Tells the model that nothing has landed. `reason`: a clause. */
export function nothingKept(reason: string): string {
  return `None of the command's changes were kept because ${reason}.`;
}

/** What a person must approve. */
interface Question {
  /** Empty: nothing. */
  readonly detail: string;
  readonly places: readonly string[];
}

/** Protected places, set-id files, what git would run and deletions that couldn't be undone. */
async function questionAbout(changes: Changes, signal: AbortSignal): Promise<Question> {
  const findings = await judgeGit({
    workspace: changes.before(''),
    after: changes.root,
    changed: changes.paths.map(({ path }) => Buffer.from(path)),
    signal,
  });
  const shielded = new Set(changes.needsApproval.flatMap(({ why, paths }) => (why === 'protected' ? paths : [])));
  const lines = [
    ...changes.needsApproval.flatMap(({ why, sentence, paths }) => [
      sentence,
      ...(why === 'no-undo' ? listed(paths) : paths.map((path) => `- ${path}`)),
    ]),
    ...(shielded.size === 0 ? [] : [await diffOf(changes, ({ path }) => shielded.has(path), shielded.size)]),
    ...(findings.length === 0 ? [] : ['Outside the sandbox, git would run or follow this:']),
    ...findings.map(({ path, what }) => `- ${path}: ${what}`),
  ];
  const places = [...changes.needsApproval.flatMap(({ paths }) => paths), ...findings.map(({ path }) => path)];
  return { detail: escapeControlChars(lines.join('\n')), places };
}

async function ask(
  { detail, places }: Question,
  {
    why,
    people,
    signal,
  }: { readonly why: string; readonly people: ToolContext['people']; readonly signal: AbortSignal },
): Promise<Verdict> {
  if (detail.length > LONGEST_QUESTION)
    return {
      lands: false,
      reason: `${nothingKept('what needs the owner’s approval is too long to show')} Change less at a time.`,
    };
  const reason = `The command has ended, and these changes need your approval because ${why}. If you decline, nothing that it changed is kept.`;
  const answer = await people.approve({ title: 'Keep what a command changed', detail, reason, part: 1 });
  signal.throwIfAborted();
  if (answer.approved) return { lands: true };
  const named = [...new Set(places)].slice(0, MOST_LISTED).map(escapeControlChars).join(', ');
  return {
    lands: false,
    reason: sentences(nothingKept(`the owner didn’t approve what it changed in ${named}`), answer.reason),
  };
}

function listed(paths: readonly string[]): readonly string[] {
  const rest = paths.length - MOST_LISTED;
  return [...paths.slice(0, MOST_LISTED).map((path) => `- ${path}`), ...(rest > 0 ? [`- … and ${rest} more`] : [])];
}

/** The changed lines of the first of these text files. */
async function diffOf(
  changes: Changes,
  isShown: (changed: Changes['paths'][number]) => boolean = () => true,
  most = MOST_SHOWN,
): Promise<string> {
  const files = changes.paths.filter((one) => one.kind === 'file' && one.how !== 'attributes' && isShown(one));
  const parts: string[] = [];
  for (const { path, how } of files.slice(0, most)) {
    const before = how === 'added' ? '' : await textOf(changes.before(path));
    const after = how === 'removed' ? '' : await textOf(changes.after(path));
    const lines = before === null || after === null ? 'not shown' : previewOf(before, after);
    parts.push(`${escapeControlChars(path)}\n${lines}`);
  }
  if (files.length > most) parts.push(`and ${plural(files.length - most, 'more file')}`);
  return parts.join('\n');
}

/** The text of a regular file; null if it is of another kind, binary or too long. */
async function textOf(path: string): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (file === null) return null;
  try {
    const facts = await file.stat();
    if (!facts.isFile() || facts.size > MOST_SHOWN_BYTES) return null;
    const bytes = await file.readFile();
    return bytes.includes(0) || imageType(bytes) !== undefined ? null : bytes.toString('utf8');
  } finally {
    await file.close();
  }
}

/**
 * Marks the files of a folder that changed while a command ran that wasn't on a view (ms since 1970). Folders that there was no
 * time to search are marked as a whole.
 */
export async function markChanged(
  marks: Marks,
  folder: string,
  span: { readonly from: number; readonly to: number },
): Promise<void> {
  const { files, unseen } = await changedBetween(folder, [span], { time: 'ctimeMs' });
  const paths = [
    ...files.map((path) => ({ path: `${folder}/${path}` })),
    ...unseen.map((path) => ({ path: `${folder}/${path}`, isFolder: true })),
  ];
  if (paths.length > 0) await marks.record(paths, 'outside');
}
