import { plural } from '../../core/util/text.ts';
import { note, ok, warning, type Found } from '../../core/util/finding.ts';
import type { Check } from '../check.ts';
import type { Scene } from '../scene.ts';

export const messageChecks: readonly Check[] = [
  { id: 'messages.undelivered', subject: 'messages', about: 'each reply of the last week arrived', run: undelivered },
  {
    id: 'messages.unanswered',
    subject: 'messages',
    about: 'each message of the last week was answered',
    run: unanswered,
  },
];

/** With a gateway that runs, a message should not wait longer, milliseconds. */
const LONG_MS = 30 * 60_000;

function undelivered({ journal, gateway, clock, command }: Scene): readonly Found[] {
  if (journal === null) return [];
  const now = clock.now();
  const { lost, waiting } = journal.outbox(now);
  const findings: Found[] = [];
  if (lost.count > 0) {
    findings.push(
      warning(
        `${plural(lost.count, 'reply', 'replies')} of the last week did not arrive, or may not have.`,
        command('outbox list'),
      ),
    );
  }
  if (waiting.count > 0 && gateway !== null && now - waiting.oldest > LONG_MS) {
    findings.push(
      warning(
        `${plural(waiting.count, 'reply', 'replies')} wait to be sent, the oldest for ${hours(now - waiting.oldest)}.`,
        command('outbox list'),
      ),
    );
  } else if (waiting.count > 0 && gateway === null) {
    findings.push(
      note(`${plural(waiting.count, 'reply waits', 'replies wait')} until the gateway runs.`, command('gateway')),
    );
  }
  return findings.length === 0 ? [ok('Each reply arrived.')] : findings;
}

function unanswered({ journal, gateway, clock, command }: Scene): readonly Found[] {
  if (journal === null) return [];
  const now = clock.now();
  const { lost, waiting } = journal.inbox(now);
  const findings: Found[] = [];
  if (lost.count > 0) {
    findings.push(
      warning(
        `${plural(lost.count, 'message')} of the last week ${lost.count === 1 ? 'was' : 'were'} given up without an answer.`,
        command('inbox list'),
      ),
    );
  }
  if (waiting.count > 0 && gateway !== null && now - waiting.oldest > LONG_MS) {
    findings.push(
      warning(
        `${plural(waiting.count, 'message')} wait for an answer, the oldest for ${hours(now - waiting.oldest)}.`,
        command('inbox list'),
      ),
    );
  } else if (waiting.count > 0 && gateway === null) {
    findings.push(
      note(`${plural(waiting.count, 'message waits', 'messages wait')} until the gateway runs.`, command('gateway')),
    );
  }
  return findings.length === 0 ? [ok('Each message was answered.')] : findings;
}

function hours(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
}
