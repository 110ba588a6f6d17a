import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command-run.ts';
import { failureOf } from '../config/temporary-home.ts';
import { tempFolder } from '../support/temp.ts';
import { startWorld } from '../support/world.ts';

test('turns can still be listed and looked at while what saves and replays them is off', async () => {
  await using world = await startWorld({ config: { extensions: { traces: false } } });
  world.model.reply('hi');
  await world.assistant.run('hello');
  const [newest] = await world.assistant.call('turnsList', { count: 1 });
  const turn = newest?.turn ?? '';
  expect((await world.assistant.call('turnsTrace', { turn })).outcome).toBe('answered');
  const { message } = await failureOf(world.assistant.call('turnsSave', { turn }));
  expect(message).toBe('traces is switched off (extensions.traces in the configuration).');
  await using folder = await tempFolder();
  await writeFile(join(folder.path, 'config.json'), JSON.stringify({ extensions: { traces: false } }));
  expect(await runCommand(['trace', 'list'], folder.path)).toMatchObject({
    code: 0,
    out: expect.stringContaining('There was no turn yet.'),
  });
});
