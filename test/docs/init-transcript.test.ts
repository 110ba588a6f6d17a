import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { startFakeOllama } from '../support/fake-ollama.ts';
import { tempFolder } from '../support/temp.ts';
import { testWith } from '../support/test-with.ts';
import { waitFor } from '../support/wait.ts';
import { expectParts } from './generated-part.ts';
import { cloneInto, openTerminal } from './terminal.ts';

/** Questions in the order in which they are asked; Enter answers each. */
const QUESTIONS = [
  /^◆ {2}Who provides the model\?/mu,
  /^◆ {2}Which model\?/mu,
  /^◆ {2}Your time zone/mu,
  /^◆ {2}Where do you want to talk to it\?/mu,
] as const;

testWith('tmux', 'bubblewrap')(
  'docs/install.md shows a set-up with Ollama as it looks in a terminal (-u rewrites it)',
  { timeout: 180_000 },
  async () => {
    await using ollama = await startFakeOllama({ pulled: { 'qwen3:8b': {} }, handler: () => 'Ready.' });
    await using folder = await tempFolder();
    const clone = await cloneInto(join(folder.path, 'assistant'));
    const home = join(folder.path, 'ann');
    await mkdir(home);
    await using terminal = await openTerminal(clone, {
      HOME: home,
      ASSISTANT_HOME: join(home, '.assistant'),
      OLLAMA_HOST: ollama.url,
      PATH: process.env['PATH'] ?? '',
      TZ: 'Europe/Vienna',
      LC_ALL: 'C.UTF-8',
      npm_config_update_notifier: 'false',
    });
    const shows = (what: RegExp): Promise<unknown> =>
      waitFor(async () => what.test(await terminal.screen()), { what: String(what), timeoutMs: 40_000 });
    await terminal.type('npm run -s assistant -- init');
    for (const question of QUESTIONS) {
      await shows(question);
      await terminal.type('');
    }
    await shows(/^◆ {2}How should it run\?/mu);
    const shown = steady(await terminal.screen(), home);
    expect(shown).toContain('ollama/qwen3:8b answered in');
    await expectParts('docs/install.md', { transcript: shown.replaceAll(/^(?=.)/gmu, '    ') });
  },
);

/** The screen up to the last question, which is another one for root, with the same folder and duration at each run. */
function steady(screen: string, home: string): string {
  return screen
    .replaceAll(home, '~')
    .replace(/^(?:● {2}You are root|◆ {2}How should it run)[^]*$/mu, '')
    .replaceAll(/(?<=answered in )\d+\.\d(?= s)/gu, '0.1')
    .replace(/\s*│\s*$/u, '');
}
