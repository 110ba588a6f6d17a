import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const FACTS = Array.from({ length: 20 }, (_, n) => `- Fact number ${n} about the owner.`);
const WHOLE = `# Memory\n\n${FACTS.join('\n')}\n`;
const PATH = 'memory/MEMORY.md';
const fileOf = (world: World): Promise<string> => readFile(join(world.workspace, PATH), 'utf8');

async function worldWithFacts(): Promise<World> {
  return await startWorld({
    furnish: async (home) => {
      await mkdir(join(home, 'workspace', 'memory'), { recursive: true });
      await writeFile(join(home, 'workspace', PATH), WHOLE);
    },
  });
}

/** Lets the model make this call. Resolves with what the owner sees next: a question or the answer. */
async function after(world: World, name: string, args: Readonly<Record<string, unknown>>): Promise<string> {
  const before = chatOf(world).length;
  world.model.reply({ calls: [{ name, arguments: args }] }, 'Done.');
  world.telegram.userSays(OWNER, 'Tidy up your memory.');
  await waitFor(() => chatOf(world).length > before, { what: `the owner to see something of ${name}` });
  return chatOf(world).at(-1) ?? '';
}

describe('a write that leaves less than half of MEMORY.md', () => {
  test.each([
    ['write_file', { path: PATH, content: '' }],
    ['write_file', { path: PATH, content: '# Memory\n\n- One fact.\n' }],
    ['edit_file', { path: PATH, oldText: FACTS.slice(0, 15).join('\n'), newText: '- Little.' }],
    ['apply_patch', { edits: [{ path: PATH, oldText: FACTS.slice(0, 15).join('\n'), newText: '' }] }],
  ])('by %s is asked about, and the file stays as it is until then', async (name, args) => {
    await using world = await worldWithFacts();
    expect(await after(world, name, args)).toContain('/approve');
    expect(await fileOf(world)).toBe(WHOLE);
  });
});

test('a small change of MEMORY.md is made without a question, and the text before it is in /memory log', async () => {
  await using world = await worldWithFacts();
  const args = { path: PATH, oldText: FACTS[3] ?? '', newText: '- Fact number 3 has changed.' };
  expect(await after(world, 'edit_file', args)).toBe('Done.');
  expect(await fileOf(world)).toContain('Fact number 3 has changed.');
  world.telegram.userSays(OWNER, '/memory log');
  await waitFor(() => chatOf(world).at(-1) !== 'Done.', { what: 'the log' });
  expect(chatOf(world).at(-1)).toMatch(/edit_file|replaced by/u);
});
