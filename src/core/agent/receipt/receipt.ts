import type { TapeTurn } from '../../session/turns.ts';

/** What a tool call did or tried to do, as its result on the tape has it. */
export interface ReceiptItem {
  readonly callId: string;
  /** Milliseconds since 1970 of its result. */
  readonly at: number;
  readonly tool: string;
  readonly kind: string;
  /** A path, a command line, a chat, a job, …; null: the tool does not say. */
  readonly target: string | null;
  /** `done`, `failed`, `refused` or `unknown` */
  readonly outcome: string;
  readonly exitCode: number | null;
  /** There was nothing of the name of its target. */
  readonly missing: boolean;
  /** Its failure gets no line: it only looked, or the answer says the same. */
  readonly minor: boolean;
  /** A person was asked and said yes. */
  readonly approved: boolean;
  /** Which answer of the model asked for it, counted from 1: a call can only make up for one of an earlier answer. */
  readonly step: number;
}

/** What a turn did and tried to do, in the order in which it ended, from its tape alone. */
export function receiptOf({ results }: TapeTurn): readonly ReceiptItem[] {
  return results.flatMap(({ entry: { callId, at, approved = false, effects = [] }, answers }) =>
    effects.map(({ exitCode = null, missing = false, minor = false, ...effect }) => ({
      ...effect,
      callId,
      at,
      exitCode,
      missing,
      minor,
      approved,
      step: answers,
    })),
  );
}

/**
 * The effects of a turn that failed, were refused or ended unknown, and for which nothing made up later: the newest of each
 * target. What is minor is left out.
 */
export function unfinished(items: readonly ReceiptItem[]): readonly ReceiptItem[] {
  return items.filter(
    (item, at) =>
      item.outcome !== 'done' &&
      !item.minor &&
      !items.some((other, n) =>
        other.outcome === 'done' ? other.step > item.step && makesUp(other, item) : n > at && isSame(other, item),
      ),
  );
}

/**
 * Whether a call that succeeded did what another one had not. Of one that named nothing, any success of its tool did; of one
 * that gave a name that there is not, any change of that kind, because the model then found the right name.
 */
function makesUp(done: ReceiptItem, item: ReceiptItem): boolean {
  if (item.target === null) return done.tool === item.tool;
  return isSame(done, item) || (item.missing && done.kind === item.kind && !done.minor);
}

/** Whether both are about the same thing; a line of the memory may be named by more or fewer of its words. */
function isSame(a: ReceiptItem, b: ReceiptItem): boolean {
  if (a.target === null || b.target === null) return a.target === b.target && a.tool === b.tool;
  if (a.kind !== b.kind) return false;
  const [one, other] = [plain(a.target), plain(b.target)];
  return one === other || (a.kind === 'memory' && (one.includes(other) || other.includes(one)));
}

function plain(target: string): string {
  return target.replaceAll(/\s+/gu, ' ').trim();
}
