import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { tempFolder } from '../support/temp.ts';
import { testWith } from '../support/test-with.ts';
import { waitFor } from '../support/wait.ts';
import { expectParts } from './generated-part.ts';
import { cloneInto, openTerminal } from './terminal.ts';

/** What a person types, and what is on the screen when it has been answered. */
const TALK: readonly (readonly [string, RegExp])[] = [
  ['npm start', /^you ›/mu],
  ['write hello to notes.txt', /Created with 1 line/u],
  // Its last line: what is typed while an answer is being written stands above the rest of it.
  ['run date', /UTC \d{4}$/mu],
  ['remind me in 5 seconds to stretch', /^stretch$/mu],
  ['/undo', /\[y\/N\]/u],
  ['y', /^Undone:/mu],
];

testWith('tmux', 'bubblewrap')(
  'README shows a conversation with the demo as it looks in the terminal of a fresh clone (-u rewrites it)',
  { timeout: 180_000 },
  async () => {
    await using folder = await tempFolder();
    const clone = await cloneInto(join(folder.path, 'assistant'));
    const home = join(folder.path, 'person');
    await mkdir(home);
    await using terminal = await openTerminal(clone, {
      HOME: home,
      PATH: process.env['PATH'] ?? '',
      TZ: 'UTC',
      LC_ALL: 'C.UTF-8',
      npm_config_update_notifier: 'false',
      // A gateway of somebody else may have the usual port.
      ASSISTANT_GATEWAY__PORT: '0',
    });
    for (const [line, answered] of TALK) {
      await terminal.type(line);
      let before = '';
      // What is typed before the turn has ended stands above the end of its answer, so the screen has to be still.
      const looks = async (): Promise<boolean> => {
        await delay(400);
        const screen = await terminal.screen();
        const isStill = screen === before;
        before = screen;
        return isStill && isAnswered(screen, line, answered);
      };
      await waitFor(looks, { what: line, timeoutMs: 40_000 });
    }
    const shown = steady(await terminal.screen());
    expect(shown).not.toMatch(/did not work|WARN|ERROR/u);
    await expectParts('README.md', { transcript: shown.replaceAll(/^(?=.)/gmu, '    ') });
  },
);

/** Whether the answer is below the line that was typed last, and the prompt below the answer. */
function isAnswered(screen: string, line: string, answered: RegExp): boolean {
  // A single letter is found in other places too.
  const below = line.length === 1 ? screen : screen.slice(Math.max(0, screen.lastIndexOf(line)));
  return answered.test(below) && /(?:you ›|\[y\/N\])$/u.test(screen.trimEnd());
}

/** The screen with the same time, duration and user at each run. */
function steady(screen: string): string {
  return (
    screen
      .replaceAll(/^⚠ The assistant runs as root\..*\n/gmu, '')
      .replaceAll(/(?<=assistantd@)\d+\.\d+\.\d+/gu, '0.1.0')
      .replaceAll(/http:\/\/127\.0\.0\.1:\d+\/#login=[\w-]+/gu, 'http://127.0.0.1:18790/#login=…')
      .replaceAll(/(?<=^ {2}✓ .* · )\d+\.\d(?= s$)/gmu, '0.1')
      .replaceAll(/(?<=^ *)\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d UTC \d{4}$/gmu, 'Sat Nov 21 05:49:27 UTC 2026')
      // At a whole minute no seconds are shown.
      .replaceAll(/for \w{3} \d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)? \(UTC\)/gu, 'for Sat 2026-11-21 05:49:37 (UTC)')
      .replace(/\s*you ›\s*$/u, '')
  );
}
