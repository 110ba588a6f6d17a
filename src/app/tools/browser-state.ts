import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HomePaths } from '../../config/home.ts';
import type { Config } from '../../config/schema.ts';
import { probeSandbox } from '../../security/sandbox/probe.ts';
import { findBrowser, libraryFolder, type FoundBrowser } from '../../tools/browser/installed.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import type { Clock } from '../../util/clock.ts';
import { systemRandom } from '../../util/random.ts';
import { sentences } from '../../util/text.ts';

/** Less than the deadline of a check of the doctor, milliseconds. */
const SANDBOX_MS = 9_000;

/** What the tool `browser` would use in this home; null: it is not enabled. */
export function lookForBrowser(
  { tools }: Pick<Config, 'tools'>,
  { browser }: Pick<HomePaths, 'browser'>,
): FoundBrowser | null {
  if (!tools.browser.enabled) return null;
  return findBrowser(libraryFolder(browser), tools.browser.executable, assistantCommand('tools install browser'));
}

/** Whether an enabled browser would work, for the doctor. Starts none and writes nothing into the home. */
export async function browserState(
  config: Pick<Config, 'tools'>,
  paths: Pick<HomePaths, 'browser'>,
  clock: Clock,
): Promise<{ readonly works: string } | { readonly trouble: string; readonly remedy: string }> {
  const looked = lookForBrowser(config, paths);
  if (looked === null) return { works: 'The tool browser is not enabled.' };
  if (looked.found === null) {
    return { trouble: sentences('The tool browser does not work', looked.reason), remedy: looked.remedy };
  }
  const folder = await mkdtemp(join(tmpdir(), 'assistant-doctor-'));
  try {
    const probe = await probeSandbox({ folder, clock, random: systemRandom, timeoutMs: SANDBOX_MS });
    if (probe.available) return { works: `The tool browser uses ${looked.found.executable} in the sandbox.` };
    const trouble = sentences('There is no sandbox, so there is no browser', probe.reason);
    return { trouble, remedy: probe.remedy ?? 'see docs/browser.md' };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
