import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

async function put(world: World, path: string, content: string | Uint8Array): Promise<void> {
  const full = join(world.workspace, path);
  await mkdir(dirname(full), { recursive: true });
  await writeFile(full, content);
}

async function say(world: World, text: string): Promise<void> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `a reply to ${text}` });
}

/** The smallest PNG there is. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.each(['openai', 'anthropic'] as const)('with %s', (dialect) => {
  test('“find every TODO in the workspace and put a summary into notes.md” ends with one reply', async () => {
    await using world = await startWorld({ dialect });
    await put(world, 'src/main.ts', 'start();\n// TODO: stop again\n');
    await put(world, 'list.md', '# List\n\nTODO: buy milk\n');
    await put(world, 'node_modules/x/index.js', '// TODO: not ours\n');
    world.model.setHandler(({ view }) => {
      const results = view.toolResults.map(({ text }) => text);
      const [first = ''] = results;
      if (first === '') return { calls: [{ name: 'grep', arguments: { pattern: 'TODO' } }] };
      if (first.startsWith('[searched')) {
        const paths = [...first.matchAll(/^(?<path>\S+\.\w+)$/gmu)].map((match) => match.groups?.['path'] ?? '');
        return { calls: paths.map((path) => ({ name: 'read_file', arguments: { path } })) };
      }
      if (first.startsWith('[read')) {
        const todos = results.flatMap((text) => [...text.matchAll(/TODO: (?<what>.+)/gu)]).map((match) => match[1]);
        const content = `# TODO\n\n${todos.map((todo) => `- ${todo}`).join('\n')}\n`;
        return { calls: [{ name: 'write_file', arguments: { path: 'notes.md', content } }] };
      }
      return `Done: ${first.split('\n').at(-1)}`;
    });
    await say(world, 'find every TODO in the workspace and put a summary into notes.md');
    expect(chatOf(world)).toEqual(['Done: Created with 4 lines.']);
    expect(await readFile(join(world.workspace, 'notes.md'), 'utf8')).toBe('# TODO\n\n- buy milk\n- stop again\n');
    expect(world.model.requests).toHaveLength(4);
    const found = world.model.requests[1]?.view.toolResults[0]?.text ?? '';
    expect(found).toMatch(/\nlist\.md\n3: TODO: buy milk\nsrc\/main\.ts\n2: \/\/ TODO: stop again$/u);
    world.model.reply('Nothing is left.');
    await say(world, '/undo yes');
    await expect(readFile(join(world.workspace, 'notes.md'))).rejects.toThrow('ENOENT');
  });

  test('an image that is read is seen by the model, also in later turns, and its bytes stand on the tape as a hash', async () => {
    await using world = await startWorld({ dialect });
    await put(world, 'picture.png', Buffer.from(PNG, 'base64'));
    world.model.reply({ calls: [{ name: 'read_file', arguments: { path: 'picture.png' } }] }, 'A dot.', 'Still a dot.');
    await say(world, 'what is on picture.png?');
    await writeFile(join(world.workspace, 'picture.png'), 'something else');
    await say(world, 'and now?');
    expect(chatOf(world)).toEqual(['A dot.', 'Still a dot.']);
    const bodies = world.model.requests.map(({ body }) => JSON.stringify(body));
    expect(bodies.map((body) => body.split(PNG).length - 1)).toEqual([0, 1, 1]);
    const entries = await world.tape(`telegram:${OWNER}`);
    const images = entries.flatMap((entry) =>
      entry.kind === 'message' && entry.role === 'tool' ? [entry.images] : [],
    );
    expect(images).toEqual([
      [{ type: 'image', mediaType: 'image/png', hash: expect.stringMatching(/^[0-9a-f]{64}$/u) }],
    ]);
    expect(JSON.stringify(entries)).not.toContain(PNG);
  });
});
