import { createHash } from 'node:crypto';
import { oneLine, SAY_BUTTON, type Button } from '../../core/api.ts';
import type { StoredJob } from './job-store.ts';

/** What platforms take as the id of a button. */
const LONGEST_BUTTON_BYTES = 64;

/** Asks whether jobs of the file that nobody approved may run. */
export function foundNotice(entries: readonly StoredJob[]): {
  readonly id: string;
  readonly text: string;
  readonly button?: Button;
} {
  const lines = entries.map(({ job, hash }) => ({
    shown: `\`${job.id}\` (${job.kind}): ${oneLine(job.text, 400).replaceAll('`', "'")}`,
    words: `/cron enable ${job.id} ${hash}`,
  }));
  const [one] = lines;
  const id = `cron-found:${entries.map(({ job, hash }) => `${job.id}:${hash}`).join(' ')}`;
  if (lines.length !== 1 || one === undefined) {
    const list = lines.map(({ shown, words }) => `- ${shown}\n  \`${words}\``).join('\n');
    const text = `cron/jobs.json holds ${lines.length} jobs that you have not approved, so they do not run:\n${list}\n\nThe words under each allow exactly that job.`;
    return { id: `cron-found:${createHash('sha256').update(id).digest('hex').slice(0, 16)}`, text };
  }
  const button = `${SAY_BUTTON}${one.words}`;
  const text = `cron/jobs.json holds a job that you have not approved, so it does not run: ${one.shown}\n\n\`${one.words}\` allows exactly this job.`;
  const fits = Buffer.byteLength(button) <= LONGEST_BUTTON_BYTES;
  return { id, text, ...(fits ? { button: { id: button, label: 'Let it run' } } : {}) };
}
