import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const lines = async (world: World): Promise<readonly Record<string, unknown>[]> =>
  (await readFile(join(world.home, 'audit.jsonl'), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line));

const said = (world: World, text: string, chat = OWNER): Promise<unknown> =>
  waitFor(() => chatOf(world, chat).some((line) => line.includes(text)), { what: text });

const exec = (command: string): object => ({ calls: [{ name: 'exec', arguments: { command } }] });

test('what was allowed, approved, declined and refused can be read afterwards: who, what, why, by whom, in which turn', async () => {
  await using world = await startWorld({
    config: {
      tools: { exec: { mode: 'ask', sandbox: 'off' } },
      channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'] } },
    },
  });
  world.model.reply(
    { calls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'x' } }] },
    exec('rm -rf /'),
    exec('touch b.txt'),
    exec('touch c.txt'),
    'Done with it.',
  );
  world.telegram.userSays(OWNER, 'go on');
  const question = (name: string): { visibleText: string } | undefined =>
    world.telegram.sentMessages.find(
      ({ visibleText }) => visibleText.includes(`touch ${name}`) && visibleText.includes('/approve '),
    );
  await waitFor(() => question('b.txt') !== undefined, { what: 'the first question' });
  world.telegram.userSays(OWNER, `/approve ${/\/approve (\w+)/u.exec(question('b.txt')?.visibleText ?? '')?.[1]}`);
  await waitFor(() => question('c.txt') !== undefined, { what: 'the second question' });
  world.telegram.userSays(OWNER, 'not today');
  await said(world, 'Done with it.');
  world.telegram.userSays(43, '/mem');
  await said(world, '/mem is for the owner only.', 43);
  world.telegram.userSays(43, 'read it');
  world.model.reply(exec('ls'), 'No.');
  await said(world, 'No.', 43);

  const all = await lines(world);
  const by = (part: string): Record<string, unknown> | undefined =>
    all.find(({ what }) => typeof what === 'string' && what.includes(part));
  expect(by('write_file')).toMatchObject({ decision: 'allowed', who: 'telegram:42', role: 'owner', origin: 'user' });
  expect(by('rm -rf /')).toMatchObject({
    decision: 'refused',
    reason: expect.stringContaining('refused in every mode'),
  });
  expect(by('b.txt')).toMatchObject({ decision: 'approved', approval: 'telegram:42' });
  expect(by('c.txt')).toMatchObject({ decision: 'declined', approval: 'the owner said: not today' });
  expect(by('/mem')).toMatchObject({
    decision: 'refused',
    who: 'telegram:43',
    role: 'trusted',
    reason: expect.stringContaining('/mem is for the owner only.'),
  });
  expect(by('exec {"command":"ls"}')).toMatchObject({ decision: 'refused', who: 'telegram:43' });
  expect(new Set(all.slice(0, 4).map(({ turn }) => turn)).size).toBe(1);
  expect((await stat(join(world.home, 'audit.jsonl'))).mode & 0o777).toBe(0o600);

  const asked = await world.assistant.call('audit', { count: 10, asked: true, about: '' });
  expect(asked.map(({ decision }) => decision)).toEqual(['refused', 'refused', 'declined', 'approved', 'refused']);
  const about = await world.assistant.call('audit', { count: 10, asked: false, about: 'B.TXT' });
  expect(about).toHaveLength(1);
});
