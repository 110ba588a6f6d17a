import { writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { homeOf } from '../../support/agents-world.ts';
import { reads, startDiscordWorld, textsIn, type DiscordWorld } from '../../support/discord-world.ts';
import { edit } from '../../support/reload-world.ts';
import { CHANNEL, DIRECT, OWNER as SLACK_OWNER, postsIn, startSlackWorld } from '../../support/slack-world.ts';
import { waitFor } from '../../support/wait.ts';
import type { World } from '../../support/world.ts';

/** `main: text` or `kim: text`. */
function echo(world: World): void {
  world.model.setHandler(({ view }) => {
    const name = view.model === 'kim-model' ? 'kim' : 'main';
    return `${name}: ${view.lastUserText.split('\n').at(-1)}`;
  });
}

/** Gives a chat to `kim`. */
async function give(world: World, route: string): Promise<void> {
  await edit(world.home, (settings) => {
    settings['agents'] = { kim: { routes: [route], agent: { model: 'openai/kim-model' } } };
  });
  const { refused } = await world.assistant.reload();
  expect(refused).toBeNull();
}

/** The places whose cursors lie in a home. */
function placesIn(home: string): readonly unknown[] {
  using db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  return db
    .prepare('SELECT place FROM cursors')
    .all()
    .map(({ place }) => place);
}

describe.concurrent('what was written while the process was down', () => {
  test('on Discord is answered by the assistant of its chat, threads too, each once', async () => {
    await using world: DiscordWorld = await startDiscordWorld({
      discord: { groups: { debounceMs: 0, followUpSeconds: 0 } },
    });
    const { channel, direct, discord, owner } = world;
    const says = (text: string, place = direct): void => void discord.sends(place, owner, text);
    const mention = (text: string): string => `<@${discord.bot.id}> ${text}`;
    echo(world);
    await give(world, `discord:${channel.id}`);
    says('one');
    says(mention('two'), channel);
    await reads(world, direct, 'main: one');
    await reads(world, channel, 'kim: two');
    const thread = discord.addThread(channel);
    says(mention('three'), thread);
    await reads(world, thread, 'kim: three');
    await world.assistant.close();
    says('four');
    says(mention('five'), channel);
    says(mention('six'), thread);
    await world.restart();
    await reads(world, direct, 'main: four');
    await reads(world, channel, 'kim: five');
    await reads(world, thread, 'kim: six');
    await world.restart();
    says('seven');
    await reads(world, direct, 'main: seven');
    expect(textsIn(world, direct)).toEqual(['main: one', 'main: four', 'main: seven']);
    expect([textsIn(world, channel), textsIn(world, thread)]).toEqual([
      ['kim: two', 'kim: five'],
      ['kim: three', 'kim: six'],
    ]);
    await world.assistant.close();
    expect(placesIn(homeOf(world, 'kim'))).toEqual(expect.arrayContaining([channel.id, thread.id]));
    expect(placesIn(world.home)).toContain(direct.id);
    await world.restart();
  });

  test('by somebody whose assistant could not start is told of, and answered once it can', async () => {
    await using world = await startDiscordWorld({ discord: { groups: { debounceMs: 0, followUpSeconds: 0 } } });
    const { channel, discord, owner } = world;
    const says = (text: string): void => void discord.sends(channel, owner, `<@${discord.bot.id}> ${text}`);
    echo(world);
    await give(world, `discord:${channel.id}`);
    says('one');
    await reads(world, channel, 'kim: one');
    await world.assistant.close();
    const path = join(homeOf(world, 'kim'), 'config.json');
    await writeFile(path, '{"agent": {"maxIterations": "many"}}');
    says('two');
    await world.restart();
    says('three');
    const isTold = (): boolean => textsIn(world, channel).some((text) => text.includes('does not run at the moment'));
    await waitFor(isTold, { what: 'the refusal' });
    await writeFile(path, '{}');
    await reads(world, channel, 'kim: three');
    const heard = textsIn(world, channel).filter((text) => text.startsWith('kim: '));
    expect(heard.slice(0, 1)).toEqual(['kim: one']);
    const asked = world.model.requests.map(({ view }) => view.lastUserText).join('\n');
    expect(asked.match(/two/gu)).toHaveLength(1);
  });

  test('in Slack is answered by the assistant of its chat, each once', async () => {
    await using world = await startSlackWorld();
    const { slack } = world;
    echo(world);
    await give(world, `slack:${CHANNEL}`);
    const mention = (text: string): string => `<@U0TESTBOT> ${text}`;
    const says = (text: string, chat = DIRECT): void => void slack.sends(SLACK_OWNER, chat, text);
    says('one');
    says(mention('two'), CHANNEL);
    await waitFor(() => postsIn(world).length === 1 && postsIn(world, CHANNEL).length === 1);
    await world.assistant.close();
    says('three');
    says(mention('four'), CHANNEL);
    await world.restart();
    await waitFor(() => postsIn(world).length === 2 && postsIn(world, CHANNEL).length === 2);
    await world.restart();
    says('five');
    await waitFor(() => postsIn(world).length === 3);
    expect(postsIn(world)).toEqual(['main: one', 'main: three', 'main: five']);
    expect(postsIn(world, CHANNEL)).toEqual(['kim: two', 'kim: four']);
    await world.assistant.close();
    expect(placesIn(homeOf(world, 'kim'))).toContain(CHANNEL);
    await world.restart();
  });
});
