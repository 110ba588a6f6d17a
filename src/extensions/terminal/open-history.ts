import { createRedactor, LineHistory } from '../../core/api-terminal.ts';
import type { HomePaths } from '../../core/api.ts';

/**
 * What was entered in the terminals of a home. A text that holds one of `secrets`, or what looks like a secret, is not
 * written down.
 */
export function openHistory(
  { terminalHistory }: Pick<HomePaths, 'terminalHistory'>,
  secrets: readonly string[],
): Promise<LineHistory> {
  const redact = createRedactor(secrets);
  return LineHistory.open(terminalHistory, { isPrivate: (text) => redact(text) !== text });
}
