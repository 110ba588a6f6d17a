import type { CommandContext } from '../../src/core/agent/commands/command.ts';
import { inboundMessage } from './inbound.ts';

/** What a command that the owner gives in a session is told. */
export function commandContext({ sessionKey, args = '' }: { sessionKey: string; args?: string }): CommandContext {
  return {
    message: inboundMessage({ sessionKey }),
    turnId: 'command-1',
    args,
    dropped: 0,
    signal: new AbortController().signal,
  };
}
