/* Imported before an assistant is, this gives it the internet of `internet.ts` and no other. */
import { vi } from 'vitest';

vi.mock('../../src/core/security/fetch/connect.ts', async (original) => ({
  ...(await original<object>()),
  systemDial: (await import('./internet.ts')).dialHost,
}));
vi.mock('../../src/core/security/fetch/target.ts', async (original) => ({
  ...(await original<object>()),
  systemResolve: (await import('./internet.ts')).resolveHost,
}));
