import * as fc from 'fast-check';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import { anchor, assistant, intent, note, reset, result, retract, trim, turnEnd, turnStart, user } from './tapes.ts';

/**
 * Random tapes. `orderly`: what the agent writes, a turn after the other, crashes included. `wild`: any entries in any
 * order with repeated and dangling ids.
 */

const text = fc.constantFrom('', ' ', 'hello', 'x'.repeat(200), '</summary>', 'é😀');
const flags = fc.record({ untrusted: fc.boolean(), private: fc.boolean() });

/** What happens after a model's call: nothing of it, its intent, its result; and whether the person adds something. */
const callFate = fc.record({ intent: fc.boolean(), result: fc.boolean(), steered: fc.boolean() });
const step = fc.record({ text, calls: fc.array(callFate, { maxLength: 3 }), flags, shuffled: fc.boolean() });
const turnShape = fc.record({
  steps: fc.array(step, { maxLength: 4 }),
  ends: fc.constantFrom('answered', 'failed', 'crashed'),
  after: fc.constantFrom('nothing', 'retract', 'trim', 'anchor', 'reset', 'note'),
  back: fc.nat(3),
});
type TurnShape = typeof turnShape extends fc.Arbitrary<infer T> ? T : never;

/** Turns with explicit ids of their entries, so that a tape of it is the same wherever it is written. */
export const orderlyTape: fc.Arbitrary<readonly EntryDraft[]> = fc
  .array(turnShape, { minLength: 1, maxLength: 8 })
  .map((shapes) => withIds(shapes.flatMap((shape, n) => turnDrafts(shape, n, shapes))));

function turnDrafts(shape: TurnShape, n: number, all: readonly TurnShape[]): readonly EntryDraft[] {
  const turn = `t${n}`;
  const drafts: EntryDraft[] = [turnStart(turn), user(turn, `question ${n}`)];
  let calls = 0;
  for (const { text, calls: fates, flags, shuffled } of shape.steps) {
    const ids = fates.map(() => `${turn}.${calls++}`);
    drafts.push(assistant(turn, text, ids, flags));
    const results: EntryDraft[] = [];
    for (const [i, fate] of fates.entries()) {
      const callId = ids[i] ?? '';
      if (fate.intent) drafts.push(intent(turn, callId));
      if (fate.result) results.push(result(turn, callId, `result of ${callId} ${text}`));
      if (fate.steered) results.push(user(turn, `and ${callId}`));
    }
    drafts.push(...(shuffled ? results.reverse() : results));
  }
  if (shape.ends !== 'crashed') drafts.push(turnEnd(turn, 'the answer', shape.ends, { id: `end-${turn}` }));
  const earlier = Math.max(0, n - shape.back);
  // Anchors and trims name ends of turns; of a crashed turn there is none, as after damage.
  const end = `end-t${earlier}`;
  switch (shape.after) {
    case 'retract':
      drafts.push(retract(`t${earlier}`));
      break;
    case 'trim':
      drafts.push(trim({ dropUpTo: earlier < n ? end : null, stubUpTo: end, imagesUpTo: end }));
      break;
    case 'anchor':
      drafts.push(anchor(`summary of ${all.length}`, end));
      break;
    case 'reset':
      drafts.push(reset());
      break;
    case 'note':
      drafts.push(note('noted'));
      break;
    case 'nothing':
      break;
  }
  return drafts;
}

const turn = fc.constantFrom('t1', 't2', 't3');
const callId = fc.constantFrom('c1', 'c2', 'c3', 'c4');
const id = fc.constantFrom('i1', 'i2', 'i3', 'i4', 'i5', 'nowhere');
const wildEntry: fc.Arbitrary<EntryDraft> = fc.oneof(
  turn.map(turnStart),
  fc.tuple(fc.option(turn), text, flags).map(([t, words, f]) => user(t, words, f)),
  fc.tuple(turn, text, fc.array(callId, { maxLength: 4 })).map(([t, words, calls]) => assistant(t, words, calls)),
  fc.tuple(turn, callId, text).map(([t, call, words]) => result(t, call, words)),
  fc.tuple(turn, callId).map(([t, call]) => intent(t, call)),
  turn.map((t) => turnEnd(t, 'answer')),
  fc.tuple(text, id).map(([words, upTo]) => anchor(words, upTo)),
  fc.record({ stubUpTo: fc.option(id), imagesUpTo: fc.option(id), dropUpTo: fc.option(id) }).map(trim),
  fc.array(turn, { maxLength: 2 }).map((turns) => retract(...turns)),
  fc.option(turn).map((t) => reset({}, t)),
);

export const wildTape: fc.Arbitrary<readonly EntryDraft[]> = fc
  .array(fc.tuple(wildEntry, fc.option(id)), { maxLength: 40 })
  .map((entries) => withIds(entries.map(([draft, given]) => (given === null ? draft : { ...draft, id: given }))));

function withIds(drafts: readonly EntryDraft[]): readonly EntryDraft[] {
  return drafts.map((draft, index) => ({ id: `n${index}`, ...draft }));
}
