import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assistantCommand, type Clock, type HomePaths, sentences, systemRandom } from '../../core/api.ts';
import { probeSandbox } from '../../core/api-sandbox.ts';
import { findBrowser, libraryFolder, type FoundBrowser } from './installed.ts';

/** Less than the deadline of a check of the doctor, milliseconds. */
const SANDBOX_MS = 9_000;

/** What the tool `browser` would use in this home. */
export function lookForBrowser(
  { executable }: { readonly executable: string | null },
  { browser }: Pick<HomePaths, 'browser'>,
): FoundBrowser {
  return findBrowser(libraryFolder(browser), executable, assistantCommand('tools install browser'));
}

/** Whether an enabled browser would work, for the doctor. Starts none and writes nothing into the home. */
export async function browserState(
  settings: { readonly executable: string | null },
  paths: Pick<HomePaths, 'browser'>,
  clock: Clock,
): Promise<{ readonly works: string } | { readonly trouble: string; readonly remedy: string }> {
  const looked = lookForBrowser(settings, paths);
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
