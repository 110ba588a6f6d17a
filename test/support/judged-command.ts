import { guardCommand, type CommandDecision, type CommandPlace } from '../../src/core/security/commands/guard.ts';
import { readWords } from '../../src/core/security/commands/words.ts';

/** What the net says about a command that starts in the workspace. */
export function judged(
  command: string,
  { userHome, ...place }: CommandPlace & { readonly userHome?: string } = {},
): CommandDecision {
  const folder = place.workspace ?? '/home/user/workspace/here';
  return guardCommand(readWords(command, { folder, home: userHome }), place);
}
