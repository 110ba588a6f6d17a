import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contentsOf, HOMES, readManifest, unpackFrozenHome, type HomeContents } from '../support/frozen-home.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

test('a frozen home holds everything that its manifest lists', async () => {
  const manifest = await readManifest();
  await using folder = await tempFolder();
  await unpackFrozenHome(folder.path);
  for (const name of ['main', 'kim'] as const) {
    expect(await contentsOf(join(folder.path, HOMES[name]))).toEqual(manifest.homes[name]);
  }
});

test('an assistant starts on the frozen home, answers, and loses nothing in it', async () => {
  const manifest = await readManifest();
  await using kept = await tempFolder();
  const copy = join(kept.path, 'home');
  {
    await using world = await startWorld({
      clock: new SkippingClock(manifest.madeAt),
      furnish: async (home) => {
        const own = JSON.parse(await readFile(join(home, 'config.json'), 'utf8'));
        await unpackFrozenHome(home);
        const { agents } = JSON.parse(await readFile(join(home, 'config.json'), 'utf8'));
        // The servers of the life that filled it are gone: its channels and models are this world's.
        await writeFile(join(home, 'config.json'), JSON.stringify({ ...own, agents }), { mode: 0o600 });
      },
    });
    world.model.setHandler(({ view }) =>
      view.lastUserText.includes('still there') ? 'I am still here.' : 'As always.',
    );
    world.telegram.userSays(OWNER, 'Are you still there?');
    await waitFor(() => chatOf(world).includes('I am still here.'), { what: 'an answer' });
    await world.assistant[Symbol.asyncDispose]();
    await mkdir(join(copy, 'agents'), { recursive: true });
    const { cp } = await import('node:fs/promises');
    await cp(world.home, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  }
  for (const name of ['main', 'kim'] as const) {
    expectKept(await contentsOf(join(copy, HOMES[name])), manifest.homes[name]);
  }
  await rm(copy, { recursive: true, force: true });
});

function expectKept(now: HomeContents, then: HomeContents): void {
  for (const [table, count] of Object.entries(then.rows)) {
    // A pairing code or a shown reaction ends by itself.
    if (['allowances', 'pairing', 'shown_reactions', 'fact_change'].includes(table)) continue;
    expect(now.rows[table] ?? 0, `rows of ${table}`).toBeGreaterThanOrEqual(count);
  }
  for (const [kind, count] of Object.entries(then.entries)) {
    expect(now.entries[kind] ?? 0, `entries of the kind ${kind}`).toBeGreaterThanOrEqual(count);
  }
  const open = new Set(then.openTurns.map(({ session }) => session));
  for (const [key, messages] of Object.entries(then.conversations)) {
    const kept = now.conversations[key] ?? [];
    // An open turn goes on, and what it had said so far is closed by the program.
    if (!open.has(key)) expect(kept.slice(0, messages.length), key).toEqual(messages);
    else expect(kept.length, key).toBeGreaterThan(0);
  }
  expect(now.facts).toEqual(then.facts);
  expect(now.people).toEqual(then.people);
  expect(now.jobs).toEqual(then.jobs);
}
