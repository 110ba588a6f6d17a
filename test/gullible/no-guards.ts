import { vi } from 'vitest';
import type { MemoryChange } from '../../src/core/agent/consolidation/record.ts';
import type * as archiveMemory from '../../src/core/agent/consolidation/memory-change.ts';
import type * as registry from '../../src/core/tools/registry/registry.ts';

/*
 * Takes the guards out of an assistant: every call is allowed, every role may do everything, every path and address is
 * open, the memory believes everybody, and secrets are shown. What is left shows that a case would do its harm.
 */

vi.mock('../../src/core/tools/registry/registry.ts', async (original) => {
  const real = await original<typeof registry>();
  return {
    ...real,
    ToolRegistry: class extends real.ToolRegistry {
      override decide(): ReturnType<registry.ToolRegistry['decide']> {
        return Promise.resolve({ decision: 'allow' });
      }
    },
  };
});
vi.mock('../../src/core/tools/registry/decide.ts', async (original) => ({
  ...(await original<object>()),
  refusalOf: () => null,
}));
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
