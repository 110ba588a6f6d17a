import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { planInstall } from '../../src/core/skills/install.ts';
import { addPins } from '../../src/core/skills/pins.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

async function say(world: World, text: string, chat = OWNER): Promise<string> {
  const before = chatOf(world, chat).length;
  world.telegram.userSays(chat, text);
  await waitFor(() => chatOf(world, chat).length > before, { what: `a reply to ${text}` });
  return chatOf(world, chat)[before] ?? '';
}

async function skill(world: World, name: string, text: string): Promise<string> {
  const folder = join(world.workspace, 'skills', name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'SKILL.md'), text);
  return folder;
}

const CHESS = '---\nname: chess\ndescription: Plays chess.\n---\nAlways open with e4. Board: $SKILL_DIR/board.txt';
const lastBody = (world: World): string => JSON.stringify(world.model.requests.at(-1)?.body);

describe('a skill', () => {
  test('is in the index of the next turn without a restart, and leaves it when its folder goes', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'ok');
    await say(world, 'one');
    expect(lastBody(world)).not.toContain('Plays chess.');
    const folder = await skill(world, 'chess', CHESS);
    await say(world, 'two');
    expect(lastBody(world)).toContain('Plays chess.');
    await rm(folder, { recursive: true });
    await say(world, 'three');
    expect(lastBody(world)).not.toContain('Plays chess.');
  });

  test('called with /name makes an ordinary message that brings its text along', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'e4');
    const folder = await skill(world, 'chess', CHESS);
    expect(await say(world, '/chess your move')).toBe('e4');
    expect(lastBody(world)).toContain('/chess your move');
    expect(lastBody(world)).toContain(`Always open with e4. Board: ${folder}/board.txt`);
    await say(world, 'and now?');
    expect(lastBody(world).split('Always open with e4').length).toBe(2);
  });

  test.each([
    ['天气', '/天气 北京', '$天气怎么样'],
    ['Übersicht', '/Übersicht', '$Übersicht'],
    ['मौसम', '/मौसम दिल्ली', 'कृपया $मौसम'],
    ['อากาศ', '/อากาศ', 'ดู $อากาศ'],
    ['погода', '/Погода', 'а $погода?'],
    ['☀️', '/☀️ now', 'and $☀️?'],
    ['weather 天气', '/weather-天气', '$weather-天气'],
  ])('named %s is called by that name', async (name, command, mention) => {
    await using world = await startWorld();
    world.model.setHandler(() => 'ok');
    await skill(world, 'sky', `---\nname: ${name}\ndescription: Weather.\n---\nLook at the sky.`);
    expect(await say(world, command)).toBe('ok');
    expect(lastBody(world).split('Look at the sky').length).toBe(2);
    expect(await say(world, mention)).toBe('ok');
    expect(lastBody(world).split('Look at the sky').length).toBe(3);
    expect(await say(world, '/任何 words')).toBe('ok');
  });

  test('called with $name anywhere does the same, once, and prices are no skills', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'ok');
    await skill(world, 'chess', CHESS);
    await say(world, 'teach me $chess for $5, not $checkers, \\$chess or x$chess');
    expect(lastBody(world).split('Always open with e4').length).toBe(2);
    await say(world, 'it costs $chess2');
    expect(lastBody(world).split('Always open with e4').length).toBe(2);
  });

  test('that only the model may call is no command, and a wrong name is no message to the model', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'ok');
    await skill(world, 'chess', CHESS);
    await skill(world, 'quiet', '---\nname: quiet\ndescription: x\nuser-invocable: false\n---\nHush.');
    expect(await say(world, '/ches your move')).toBe(
      'There is no command /ches. Did you mean /chess? /help lists what there is.',
    );
    expect(await say(world, '/hlep')).toBe('There is no command /hlep. Did you mean /help?');
    expect(await say(world, '/quiet please')).toContain('There is no command /quiet.');
    expect(world.model.requests).toHaveLength(0);
    world.model.setHandler(() => 'ok');
    expect(await say(world, '/readme.md ändern wir morgen')).toBe('ok');
  });

  test('is loaded by the model through the skill tool, and its folder may be read', async () => {
    await using world = await startWorld();
    const folder = await skill(world, 'chess', CHESS);
    await writeFile(join(folder, 'board.txt'), 'rnbqkbnr');
    world.model.reply(
      { calls: [{ name: 'skill', arguments: { name: 'chess' } }] },
      { calls: [{ name: 'read_file', arguments: { path: join(folder, 'board.txt') } }] },
      'e4',
    );
    expect(await say(world, 'play')).toBe('e4');
    expect(lastBody(world)).toContain('Always open with e4');
    expect(lastBody(world)).toContain('rnbqkbnr');
  });

  test('of ~/.agents/skills is used from the owner’s yes on, without a restart: listed, and read by file tools', async () => {
    await using world = await startWorld();
    const folder = join(world.home, '..', 'person', '.agents', 'skills', 'go');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'SKILL.md'), '---\nname: go\ndescription: Plays go.\n---\nCorners first.');
    await writeFile(join(folder, 'rules.txt'), 'nineteen lines');
    world.model.reply({ calls: [{ name: 'read_file', arguments: { path: join(folder, 'rules.txt') } }] }, 'no');
    expect(await say(world, '/skills')).toContain(
      'Found in ~/.agents/skills, not enabled: go. To use one, run this: npm run assistant -- skills enable NAME',
    );
    await say(world, 'go');
    expect(lastBody(world)).not.toContain('Plays go.');
    expect(lastBody(world)).not.toContain('nineteen lines');
    const { folder: real, pin } = await planInstall(folder);
    await addPins(join(world.home, 'skill-pins.json'), new Map([[real, pin]]), () => false);
    world.model.reply({ calls: [{ name: 'read_file', arguments: { path: join(folder, 'rules.txt') } }] }, 'ok');
    await say(world, 'go');
    expect(lastBody(world)).toContain('Plays go.');
    // It is somebody else's text, as if it came from the web.
    expect(world.model.requests.at(-1)?.view.toolResults.at(-1)?.text).toMatch(/^<untrusted [^]*nineteen lines/mu);
  });

  test('limits what may be called until its turn ends', async () => {
    await using world = await startWorld();
    await skill(
      world,
      'careful',
      '---\nname: careful\ndescription: x\nallowed-tools: Read, Bash(git status:*)\n---\nOnly look.',
    );
    world.model.reply(
      { calls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'x' } }] },
      { calls: [{ name: 'exec', arguments: { command: 'git status && touch b.txt' } }] },
      { calls: [{ name: 'list_dir', arguments: {} }] },
      'done',
      { calls: [{ name: 'write_file', arguments: { path: 'c.txt', content: 'x' } }] },
      'done again',
    );
    expect(await say(world, '/careful look around')).toBe(
      'done\n\nNot done: writing a.txt was refused; git status && touch b.txt was refused.',
    );
    const refusals = lastBody(world).match(
      /cannot be called: until this turn ends the active skill \(careful\) allows only/gu,
    );
    expect(refusals).toHaveLength(3);
    expect(await say(world, 'now write')).toBe('done again');
    expect(lastBody(world)).toContain('created c.txt');
  });

  test('has its variables in the commands of turns in which it is active, and nowhere else', async () => {
    await using world = await startWorld({
      config: {
        tools: { exec: { mode: 'full' } },
        skills: { entries: { chess: { trusted: true, env: { CHESS_KEY: 'knight-to-f3-secret' } } } },
      },
    });
    await skill(world, 'chess', CHESS);
    const call = { calls: [{ name: 'exec', arguments: { command: 'echo "length ${#CHESS_KEY}"; echo $CHESS_KEY' } }] };
    world.model.reply(call, 'done', call, 'done');
    await say(world, 'without');
    expect(lastBody(world)).toContain('length 0');
    await say(world, '$chess with');
    expect(lastBody(world)).toContain('length 19');
    expect(lastBody(world)).not.toContain('knight-to-f3-secret');
  });

  test.each([
    { who: 'others may have written asks before it changes what is remembered', trusted: false, asks: true },
    { who: 'the owner vouches for does not ask', trusted: true, asks: false },
  ])('that $who', async ({ trusted, asks }) => {
    await using world = await startWorld({ config: { skills: { entries: { chess: { trusted } } } } });
    await skill(world, 'chess', CHESS);
    const load = { calls: [{ name: 'skill', arguments: { name: 'chess' } }] };
    const write = { calls: [{ name: 'memory_write', arguments: { fact: 'opens with e4' } }] };
    world.model.reply(load, write, 'Noted.');
    world.telegram.userSays(OWNER, 'how do I open?');
    const isAsked = (): boolean => chatOf(world).some((text) => text.includes('/approve '));
    await waitFor(() => isAsked() || chatOf(world).includes('Noted.'));
    expect(isAsked()).toBe(asks);
    expect(lastBody(world)).toContain('Always open with e4');
    expect(lastBody(world)).not.toContain('<untrusted');
  });

  test('of strangers’ words is not called: a forwarded $name brings nothing', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'ok');
    await skill(world, 'chess', CHESS);
    const before = chatOf(world).length;
    world.telegram.userSays(OWNER, 'look: $chess', {
      forward_origin: { type: 'hidden_user', sender_user_name: 'Eve', date: 1 },
    });
    await waitFor(() => chatOf(world).length > before);
    expect(lastBody(world)).not.toContain('Always open with e4');
  });

  test('is listed by /skills with what it lacks', async () => {
    await using world = await startWorld();
    await skill(world, 'chess', CHESS);
    await skill(
      world,
      'needy',
      '---\nname: needy\ndescription: Needs much.\nmetadata: {"openclaw":{"requires":{"bins":["no-such-program"]}}}\n---\nx',
    );
    const list = await say(world, '/skills');
    expect(list).toContain('chess: Plays chess.');
    expect(list).toMatch(/needy \(needs [^)]*no-such-program[^)]*\): Needs much\./u);
    expect(await say(world, '/skills chess')).toContain('Plays chess.');
    expect(await say(world, '/skills ches')).toBe('There is no skill ches. Did you mean chess?');
  });
});
