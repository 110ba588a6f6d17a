import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const SKILL = `---
name: cheese
description: Cuts cheese.
metadata: { openclaw: { requires: { bins: [gouda] }, install: [{ kind: brew, formula: cheese/tap/gouda }] } }
---
Cut it.
`;
const COMMAND = 'brew install cheese/tap/gouda';

/** A world with a skill that lacks a program, and a package manager that notes what it is asked for. */
async function start(bin: string): Promise<World> {
  await writeFile(join(bin, 'brew'), `#!/bin/sh\necho "$@" >> ${bin}/calls\n`);
  await chmod(join(bin, 'brew'), 0o755);
  const world = await startWorld({ environment: { PATH: `${bin}:${process.env['PATH'] ?? ''}` } });
  await mkdir(join(world.workspace, 'skills/cheese'), { recursive: true });
  await writeFile(join(world.workspace, 'skills/cheese/SKILL.md'), SKILL);
  return world;
}

const ASK = { calls: [{ name: 'exec', arguments: { command: COMMAND, outside: true } }] };

test('a missing program: the model is told the command, the owner sees it whole, and only a yes runs it', async () => {
  await using folder = await tempFolder();
  const bin = folder.path;
  await using world = await start(bin);
  world.model.reply({ calls: [{ name: 'skill', arguments: { name: 'cheese' } }] }, ASK, 'Not installed.');
  world.telegram.userSays(OWNER, 'cut some cheese');
  const codeOf = (text: string): string | undefined => /\/approve (\w+)/u.exec(text)?.[1];
  const questions = (): readonly string[] => chatOf(world).filter((text) => codeOf(text) !== undefined);
  await waitFor(() => questions().length === 1, { what: 'a question' });
  expect(questions()[0]).toContain(COMMAND);
  expect(JSON.stringify(world.model.requests[0]?.body)).toContain(`<install>${COMMAND}</install>`);
  expect(JSON.stringify(world.model.requests[1]?.body)).toContain(
    'exactly this command, which the owner is asked about',
  );
  world.telegram.userSays(OWNER, `/deny ${codeOf(questions()[0] ?? '')}`);
  await waitFor(() => chatOf(world).some((text) => text.startsWith('Not installed.')), { what: 'the answer' });
  expect(existsSync(join(bin, 'calls'))).toBe(false);

  world.model.reply(ASK, 'Installed.');
  world.telegram.userSays(OWNER, 'install it');
  // An answered question has no code any more.
  await waitFor(() => questions().length === 1, { what: 'another question' });
  world.telegram.userSays(OWNER, `/approve ${codeOf(questions()[0] ?? '')}`);
  await waitFor(() => chatOf(world).includes('Installed.'), { what: 'the answer' });
  expect(await readFile(join(bin, 'calls'), 'utf8')).toBe('install cheese/tap/gouda\n');
});
