import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { failed, ok, type Check } from '../../core/api-doctor.ts';
import { probeSandbox } from '../../core/api-sandbox.ts';
import { sentences, systemRandom } from '../../core/api.ts';
import { findBrowser } from './program.ts';
import { browser } from './settings.ts';

/** Less than the deadline of a check, milliseconds. */
const SANDBOX_MS = 9_000;

export const checks: readonly Check[] = [
  {
    id: 'browser.works',
    subject: 'extensions',
    about: 'the tool browser, if it is enabled, has its library, a browser and a sandbox',
    live: true,
    run: async ({ loaded, paths, clock }) => {
      if (loaded === null || !browser.of(loaded.config).enabled) return [];
      const found = findBrowser(browser.of(loaded.config), paths);
      if ('reason' in found) return [failed(sentences('The tool browser does not work', found.reason), found.remedy)];
      // None is started, and nothing is written into the home.
      const folder = await mkdtemp(join(tmpdir(), 'assistant-doctor-'));
      try {
        const probe = await probeSandbox({ folder, clock, random: systemRandom, timeoutMs: SANDBOX_MS });
        if (probe.available) return [ok(`The tool browser uses ${found.executable} in the sandbox.`)];
        const why = sentences('There is no sandbox, so there is no browser', probe.reason);
        return [failed(why, probe.remedy ?? 'see docs/browser.md')];
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  },
];
