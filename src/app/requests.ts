import type { PromptReport } from '../agent/commands/context.ts';
import type { PairingDesk } from '../agent/commands/pair.ts';
import type { RequestHandlers } from '../gateway/requests.ts';
import type { MemoryStore } from '../memory/store.ts';

export interface RequestParts {
  readonly prompt: (sessionKey: string) => Promise<PromptReport>;
  readonly memory: MemoryStore;
  readonly pairing: PairingDesk;
}

/** What the command line may ask, answered by the rooms. */
export function createRequests({ prompt, memory, pairing }: RequestParts): RequestHandlers {
  return {
    prompt: async ({ session }) => {
      const { layers, tokens, toolCount, messageCount, model } = await prompt(session);
      return {
        session,
        model,
        layers: layers.map(({ name, text }, index) => ({ name, text, tokens: tokens.layers[index] ?? 0 })),
        tools: { count: toolCount, tokens: tokens.tools },
        conversation: { messages: messageCount, tokens: tokens.history },
        used: tokens.used,
        window: tokens.window,
      };
    },
    memoryLog: () => memory.log(),
    memoryShow: ({ id }) => memory.show(id),
    memoryRestore: ({ id }) => memory.restore(id),
    pairList: async () => pairing.list(),
    pairApprove: ({ code }) => pairing.approve(code, 'terminal'),
    pairRemove: ({ person }) => pairing.remove(person),
  };
}
