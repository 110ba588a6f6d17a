import { expect, test } from 'vitest';
import { initHome } from '../../src/core/config/init.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { putLibrary } from '../support/browser-library.ts';
import { PROGRAM } from '../support/extensions.ts';
import { textFaults } from '../support/text-faults.ts';
import { startWorld, type World } from '../support/world.ts';

function worldWithBrowser(): Promise<World> {
  const tools = { browser: { enabled: true, executable: process.execPath } };
  return startWorld({ config: { tools }, furnish: putLibrary });
}

test('the tool is described, with each field, in sentences that a reader understands who sees nothing else', async () => {
  await using world = await worldWithBrowser();
  const tools = (await world.assistant.call('toolsList', {})).filter(({ name }) => name === 'browser');
  expect(tools).toHaveLength(1);
  expect(textFaults(tools)).toEqual([]);
});

test('a bare “hi” costs at most 6,000 tokens with the browser too', async () => {
  await using world = await worldWithBrowser();
  world.model.setHandler(() => 'ok');
  await initHome(homePaths(world.home), PROGRAM);
  await world.assistant.run('hi');
  const { body = {}, view } = world.model.requests.at(-1) ?? {};
  expect(JSON.stringify(body['tools'])).toContain('"browser"');
  expect(view?.system).toContain('<name>browser</name>');
  expect(Buffer.byteLength(JSON.stringify(body)) / 4).toBeLessThanOrEqual(6_000);
});
