import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startWorld, type World } from '../support/world.ts';
import { say, systemOf, TRUSTED, TWO_PEOPLE } from './memory-world.ts';

const memoryOf = (world: World): Promise<string> =>
  readFile(join(world.workspace, 'memory', 'MEMORY.md'), 'utf8').catch(() => '');
const remember = (fact: string): { calls: { name: string; arguments: { fact: string } }[] } => ({
  calls: [{ name: 'memory_write', arguments: { fact } }],
});

test('/memory lists the earlier versions in the chat and goes back to one, which the command line lists too', async () => {
  await using world = await startWorld();
  expect(await say(world, '/memory log')).toBe('There are no earlier versions of MEMORY.md.');
  world.model.reply(remember('Likes tea'), 'Noted.', remember('Likes ~~~ coffee'), 'Noted.', 'Hi.');
  await say(world, 'I like tea');
  await say(world, 'and coffee');
  const log = await say(world, '/memory log');
  const versions = await world.assistant.call('memoryLog', {});
  expect(versions).toHaveLength(1);
  const id = versions[0]?.id ?? '';
  expect(log).toContain(`${id}  `);
  expect(log).toContain('replaced by: memory_write, added: Likes');
  expect(log).toContain(`/memory restore ${id}`);
  expect(await say(world, `/memory restore ${id}`)).toContain(`MEMORY.md is restored to version ${id}`);
  expect(await memoryOf(world)).toBe('# Memory\n\n- Likes tea\n');
  expect((await world.assistant.call('memoryLog', {}))[0]?.reason).toBe(`restore of ${id}`);
  await say(world, 'hi');
  expect(systemOf(world)).toContain('- Likes tea');
  expect(systemOf(world)).not.toContain('coffee');
});

test.each([
  ['/memory restore 20200101T000000000Z', /There is no such version of MEMORY\.md\. \/memory log lists/u],
  ['/memory restore ../../config', /There is no such version/u],
  ['/memory', /\/memory restore ID/u],
  ['/memory lose everything', /\/memory log/u],
])('%s says what to do instead, and changes nothing', async (words, answer) => {
  await using world = await startWorld();
  expect(await say(world, words)).toMatch(answer);
  expect(await memoryOf(world)).toBe('');
});

test('/memory is for the owner only', async () => {
  await using world = await startWorld({ config: TWO_PEOPLE });
  expect(await say(world, '/memory log', TRUSTED)).toBe('/memory is for the owner only.');
});
