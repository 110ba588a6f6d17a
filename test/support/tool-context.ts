import type { ToolContext } from '../../src/tools/tool.ts';

/** The context of a call by the owner in a direct chat, whom nobody can ask; a test names what is different. */
export function testToolContext(overrides: Partial<ToolContext> = {}): ToolContext {
  return {
    sessionKey: 'terminal:test',
    turnId: 'turn-1',
    callId: 'turn-1.1',
    messageId: 'message-1',
    workingDirectory: '/nowhere',
    signal: new AbortController().signal,
    role: 'owner',
    origin: 'user',
    chatType: 'direct',
    taint: { untrusted: false, private: false },
    approve: async () => ({ approved: false, reason: 'nobody is there' }),
    progress: () => {},
    ...overrides,
  };
}
