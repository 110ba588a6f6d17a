import type { App } from '../../app.ts';
import { AppError, errorCode, errorMessage } from '../../util/errors.ts';
import { oneLine } from '../../util/text.ts';
import { outboundTo } from '../outgoing.ts';

/** Wait between attempts to read a session file that cannot be read. */
export const UNREADABLE = { firstMs: 2_000, maxMs: 300_000 };

/** Logs that a session file cannot be read and tells the person whose message waits there. Never rejects. */
export async function reportUnreadable(
  key: string,
  error: unknown,
  { log, clock, redact, journal, bus }: App,
): Promise<void> {
  log.error('recovery: session file cannot be read', { session: key, reason: errorMessage(error) });
  const waiting = journal.turns
    .open()
    .filter(({ session }) => session === key)
    .flatMap(({ messages }) => messages);
  const target = waiting.at(-1) ?? journal.inbox.waiting(key, 1)[0];
  if (target === undefined) return;
  const code = error instanceof AppError ? error.facts['code'] : errorCode(error);
  const text = `I cannot read the file of this conversation${typeof code === 'string' ? ` (${code})` : ''}, so I cannot continue with “${oneLine(redact(target.text), 80)}” yet. I keep trying, and what you write here waits. To help: repair or move away the file that my log names.`;
  const message = outboundTo(target, { id: `unreadable:${target.id}`, kind: 'notice', text, plain: true }, clock.now());
  await bus
    .publishOutbound(message)
    .catch((failed: unknown) =>
      log.warn('recovery: notice not queued', { session: key, reason: errorMessage(failed) }),
    );
}
