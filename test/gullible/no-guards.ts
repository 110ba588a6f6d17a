import { vi } from 'vitest';
import type { MemoryChange } from '../../src/core/agent/consolidation/record.ts';
import type * as tools from '../../src/core/tools/tool.ts';
import type * as archiveMemory from '../../src/core/agent/consolidation/memory-change.ts';

/*
 * Takes the guards out of an assistant: every call is allowed, every role may do everything, every path and address is
 * open, the memory believes everybody, and secrets are shown. What is left shows that a case would do its harm.
 */

vi.mock('../../src/core/tools/registry/decide.ts', async (original) => ({
  ...(await original<object>()),
  decide: () => ({ decision: 'allow' }),
  refusalOf: () => null,
}));
vi.mock('../../src/core/tools/tool.ts', async (original) => {
  const real = await original<typeof tools>();
  const defineTool: typeof real.defineTool = (definition) => {
    const tool = real.defineTool(definition);
    const plan = tool.plan.bind(tool);
    // What only the owner may do in a direct chat, everybody may.
    const asOwner = { role: 'owner', origin: 'user', chatType: 'direct' } as const;
    tool.plan = (params, context) => plan(params, { ...context, person: { ...context.person, ...asOwner } });
    return tool;
  };
  return { ...real, defineTool };
});
vi.mock('../../src/core/security/paths/rules.ts', async (original) => ({
  ...(await original<object>()),
  decidePath: (path: string) => ({ decision: 'allow', path }),
  isState: () => false,
}));
vi.mock('../../src/core/bus/buttons.ts', async (original) => ({
  ...(await original<object>()),
  labelButton: (label: string) => `say:${label}`,
}));
vi.mock('../../src/core/security/fetch/addresses.ts', async (original) => ({
  ...(await original<object>()),
  judgeAddress: () => ({ kind: 'public', what: 'a public address' }),
  judgeAnswer: () => ({ kind: 'public', what: 'a public address' }),
  inNetwork: () => false,
}));
vi.mock('../../src/core/security/fetch/url-rules.ts', async (original) => ({
  ...(await original<object>()),
  isForeignPort: () => false,
}));
vi.mock('../../src/core/agent/consolidation/memory-change.ts', async (original) => {
  const real = await original<typeof archiveMemory>();
  const changeMemory: typeof archiveMemory.changeMemory = (change: MemoryChange, ports) =>
    real.changeMemory({ ...change, untrusted: false }, ports);
  return { ...real, changeMemory };
});
vi.mock('../../src/core/security/redact/redact.ts', async (original) => ({
  ...(await original<object>()),
  createRedactor: () => (text: string) => text,
  createLearningRedactor: () => ({ redact: (text: string) => text, learn: () => {} }),
}));
/** Secrets do get out here. */
vi.mock('../support/canaries.ts', async (original) => ({
  ...(await original<object>()),
  assertNoCanary: () => Promise.resolve(),
}));
