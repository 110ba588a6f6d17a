import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SetupWorld } from '../../setup/setup.ts';
import { errorMessage } from '../../core/util/errors.ts';
import { silentLog } from '../../core/util/log.ts';
import type { CliContext } from '../../core/cli/context.ts';

/** A model at home reads the prompt for the first time. */
const TIMEOUT_MS = 300_000;

/** Lets an assistant in a home of its own, which is removed, answer once with these settings. */
export function wholeTrial({ app, env, clock }: CliContext): SetupWorld['tryWhole'] {
  return async (config, stopped) => {
    const home = await mkdtemp(join(env['TMPDIR'] ?? tmpdir(), 'assistant-init-'));
    try {
      const { createAssistant } = await app();
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(TIMEOUT_MS)]);
      const settings = { home, config, environment: env, clock, log: silentLog, rehearsal: true };
      await using assistant = await createAssistant({ ...settings, signal });
      const begun = clock.monotonic();
      const { isError, text } = await assistant.run('Are you ready? Answer with one word.', { signal });
      return { seconds: (clock.monotonic() - begun) / 1_000, trouble: isError ? text : null };
    } catch (error) {
      return { seconds: 0, trouble: errorMessage(error) };
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  };
}
