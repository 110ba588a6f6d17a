import { plural } from '../../core/util/text.ts';
import { note, ok, warning, type Found } from '../../core/util/finding.ts';
import { checksOn } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const messageChecks = checksOn('messages', [
  [
    'messages.undelivered',
    'each reply of the last week arrived',
    look({
      box: 'outbox',
      words: ['reply', 'replies'],
      lost: () => 'did not arrive, or may not have',
      waits: 'to be sent',
      fine: 'Each reply arrived.',
    }),
  ],
  [
    'messages.unanswered',
    'each message of the last week was answered',
    look({
      box: 'inbox',
      words: ['message', 'messages'],
      lost: (count) => `${count === 1 ? 'was' : 'were'} given up without an answer`,
      waits: 'for an answer',
      fine: 'Each message was answered.',
    }),
  ],
]);

/** With a gateway that runs, a message should not wait longer, milliseconds. */
const LONG_MS = 30 * 60_000;

interface Box {
  readonly box: 'inbox' | 'outbox';
  readonly words: readonly [one: string, several: string];
  readonly lost: (count: number) => string;
  readonly waits: string;
  readonly fine: string;
}

/** Looks for what was lost, and for what waits too long or for a gateway. */
function look({ box, words: [one, several], lost: wasLost, waits, fine }: Box): (scene: Scene) => readonly Found[] {
  return ({ journal, gateway, clock, command }) => {
    if (journal === null) return [];
    const now = clock.now();
    const { lost, waiting } = journal[box](now);
    const findings: Found[] = [];
    if (lost.count > 0) {
      const which = plural(lost.count, one, several);
      findings.push(warning(`${which} of the last week ${wasLost(lost.count)}.`, command(`${box} list`)));
    }
    if (waiting.count > 0 && gateway !== null && now - waiting.oldest > LONG_MS) {
      const which = plural(waiting.count, one, several);
      const verb = waiting.count === 1 ? 'waits' : 'wait';
      findings.push(
        warning(`${which} ${verb} ${waits}, the oldest for ${hours(now - waiting.oldest)}.`, command(`${box} list`)),
      );
    } else if (waiting.count > 0 && gateway === null) {
      const which = plural(waiting.count, `${one} waits`, `${several} wait`);
      findings.push(note(`${which} until the gateway runs.`, command('gateway')));
    }
    return findings.length === 0 ? [ok(fine)] : findings;
  };
}

function hours(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
}
