import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

async function say(world: World, text: string, chat = OWNER): Promise<string> {
  const before = chatOf(world, chat).length;
  world.telegram.userSays(chat, text);
  await waitFor(() => chatOf(world, chat).length > before, { what: `a reply to ${text}` });
  return chatOf(world, chat)[before] ?? '';
}

describe('a comma command', () => {
  test('runs a tool without the model, by key and value, as JSON, or with its first parameter alone', async () => {
    await using world = await startWorld();
    expect(await say(world, ',write_file path=a.txt content="hello there"')).toContain('created a.txt');
    expect(await readFile(join(world.workspace, 'a.txt'), 'utf8')).toBe('hello there');
    expect(await say(world, ',write_file {"path": "b.txt", "content": "b"}')).toContain('created b.txt');
    expect(await say(world, ',read_file a.txt')).toContain('hello there');
    expect(world.model.requests).toHaveLength(0);
  });

  test.each([
    [',fs.read path=a.txt', 'hello'],
    [',Read path=a.txt', 'hello'],
    ['，read_file path=a.txt', 'hello'],
    [',Write path=b.txt content="two words"', 'created b.txt'],
    [',fs.list path=.', 'a.txt'],
    [',Bash command="rm -rf /"', 'refused in every mode'],
    [',bash cmd="echo it ran"', 'it ran'],
    [',bash cmd=“echo it ran”', '\nit ran'],
    [',bash cmd=„echo it ran“', '\nit ran'],
    [',bash cmd=‘echo "it’s 5"’', '\nit’s 5'],
    [String.raw`,bash cmd="echo \"it ran\""`, '\nit ran'],
    [',Read filePath=a.txt', 'hello'],
    [',exec command="echo it ran" timeout_seconds=5', '\nit ran'],
  ])('takes keys and values also under another name of its tool: %s', async (command, answer) => {
    await using world = await startWorld({ config: { tools: { exec: { mode: 'full' } } } });
    await writeFile(join(world.workspace, 'a.txt'), 'hello');
    expect(await say(world, command)).toContain(answer);
    expect(world.model.requests).toHaveLength(0);
  });

  test('keeps words with an equals sign that are part of a value', async () => {
    await using world = await startWorld({ config: { tools: { exec: { mode: 'full' } } } });
    await say(world, ',write_file path=a.conf content=host=1 data=2');
    expect(await readFile(join(world.workspace, 'a.conf'), 'utf8')).toBe('host=1 data=2');
    expect(await say(world, ',exec command=echo one code=2 cmd=3')).toContain('one code=2 cmd=3');
    expect(await say(world, ',exec code=7; echo "is $code"')).toContain('is 7');
  });

  test('leaves no trace in what the model is sent', async () => {
    await using world = await startWorld();
    world.model.reply('ok');
    await say(world, ',list_dir');
    await say(world, 'hi');
    expect(JSON.stringify(world.model.requests[0]?.body['messages'])).not.toContain('list_dir');
  });

  test('with an unknown name is an error, never a shell command or a message to the model', async () => {
    await using world = await startWorld();
    expect(await say(world, ',lst_dir .')).toContain('There is no tool named lst_dir. Did you mean list_dir?');
    expect(await say(world, ',date')).toContain('There is no tool named date.');
    expect(world.model.requests).toHaveLength(0);
  });

  test('passes every guard: what is denied stays denied', async () => {
    await using world = await startWorld();
    expect(await say(world, ',read_file ../config.json')).toMatch(/no tool may touch|outside the workspace/u);
    expect(await say(world, ',exec rm -rf /')).toContain('refused in every mode');
  });

  test('is for owners: others get a sentence', async () => {
    await using world = await startWorld({
      config: { channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'] } } },
    });
    expect(await say(world, ',list_dir', 43)).toBe(',list_dir runs a tool directly; that is for the owner only.');
  });

  test('is not every text that begins with a comma', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'ok');
    expect(await say(world, ', as I said')).toBe('ok');
  });

  test('that runs long is ended by /stop within two seconds', async () => {
    await using world = await startWorld({ config: { tools: { exec: { mode: 'full' } } } });
    world.telegram.userSays(OWNER, ',exec touch begun; sleep 60');
    await waitFor(() => existsSync(join(world.workspace, 'begun')), { what: 'the command to begin' });
    const before = Date.now();
    world.telegram.userSays(OWNER, '/stop');
    await waitFor(() => chatOf(world).some((text) => text.includes('stopped')), { what: 'the end of the command' });
    expect(Date.now() - before).toBeLessThan(2_500);
  });
});
