import { writeFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const WORD = 'hunter2';
const HELD = /the guard "cover" isn't running/u;

async function putGuard(home: string, hooks: string, more = ''): Promise<void> {
  const folder = join(home, 'plugins', 'cover');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"name":"cover","type":"module","assistant":{"plugin":"./index.js"}}');
  await writeFile(
    join(folder, 'index.js'),
    `${more}\nexport default { name: 'cover', guard: true, hooks: { ${hooks} } };`,
  );
}

const COVERS = `render: (_turn, text) => ({ type: 'replace', value: text.replaceAll('${WORD}', '***') })`;

const guarded = (hooks: string): Promise<World> =>
  startWorld({ config: { plugins: ['cover'] }, furnish: (home) => putGuard(home, hooks) });

/** The next start is the sixth within five minutes after a crash. */
function crash(home: string): void {
  using db = new DatabaseSync(join(home, 'state.db'));
  db.exec("INSERT OR REPLACE INTO opened (id, boot, lost) VALUES (1, 'killed', 0)");
  writeFileSync(homePaths(home).starts, Array.from({ length: 6 }, () => Date.now()).join(' '));
}

async function restartInSafeMode(world: World): Promise<void> {
  await world.assistant[Symbol.asyncDispose]();
  crash(world.home);
  await world.restart();
  await waitFor(() => /I am in safe mode/u.test(chatOf(world).at(-1) ?? ''), { what: 'the notice' });
}

async function says(world: World, text: string): Promise<string> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `an answer to ${text}` });
  return chatOf(world).at(-1) ?? '';
}

test('in safe mode, what a guard of texts should have judged is held back, the person is told, and the notice names it', async () => {
  await using world = await guarded(COVERS);
  world.model.setHandler(() => `The password is ${WORD}.`);
  expect(await says(world, 'tell me')).toBe('The password is ***.');
  await restartInSafeMode(world);
  expect(chatOf(world).at(-1)).toContain('Guards that are off: "cover".');
  expect(await says(world, 'tell me again')).toMatch(HELD);
  expect(await says(world, '/status')).toMatch(/⚠ The guard "cover" isn't running/u);
  expect(JSON.stringify(world.telegram.calls)).not.toContain(WORD);
  await world.restart();
  expect(await says(world, 'and now')).toBe('The password is ***.');
});

test('a turn that was open when safe mode began sends nothing that its guard should have judged', async () => {
  await using world = await guarded(COVERS);
  world.model.setHandler(() => ({ fault: 'hang' }));
  world.telegram.userSays(OWNER, 'tell me');
  await waitFor(() => world.model.inFlight === 1, { what: 'the request' });
  await world.assistant[Symbol.asyncDispose]();
  crash(world.home);
  world.model.setHandler(() => `The password is ${WORD}.`);
  await world.restart();
  await waitFor(() => chatOf(world).some((text) => HELD.test(text)), { what: 'the sentence' });
  expect(JSON.stringify(world.telegram.calls)).not.toContain(WORD);
});

test('a guard of tools that is off refuses its tools and lets people talk', async () => {
  await using world = await guarded('beforeTool: () => undefined');
  world.model.reply('Hello.');
  expect(await says(world, 'hello')).toBe('Hello.');
  await restartInSafeMode(world);
  world.model.setHandler(({ view }) =>
    view.toolResults.length > 0
      ? (view.toolResults[0]?.text ?? '')
      : view.lastUserText.includes('list')
        ? { calls: [{ name: 'list_dir', arguments: {} }] }
        : 'Hello again.',
  );
  expect(await says(world, 'hello')).toBe('Hello again.');
  expect(await says(world, 'list it')).toMatch(HELD);
});

test('a guard that was changed since it was agreed to, or that cannot be loaded, denies as well', async () => {
  await using world = await guarded(COVERS);
  world.model.setHandler(() => `The password is ${WORD}.`);
  expect(await says(world, 'tell me')).toBe('The password is ***.');
  await world.assistant[Symbol.asyncDispose]();
  await putGuard(world.home, COVERS, 'throw new Error("broken");');
  await world.restart();
  expect(await says(world, 'tell me again')).toMatch(HELD);
  expect(JSON.stringify(world.telegram.calls)).not.toContain(WORD);
});

test('a guard that throws at its very first load denies, and the owner reads which, why and what to do', async () => {
  await using world = await startWorld({
    config: { plugins: ['cover'] },
    furnish: (home) => putGuard(home, COVERS, 'throw new Error("no database");'),
  });
  world.model.setHandler(() => `The password is ${WORD}.`);
  const told = await says(world, 'tell me');
  expect(told).toMatch(HELD);
  expect(told).toMatch(/because no database\. Fix it and send \/restart, or .* plugins remove cover\.$/u);
  expect(await says(world, '/status')).toMatch(/⚠ The guard "cover" isn't running.*plugins remove cover/u);
  expect(JSON.stringify(world.telegram.calls)).not.toContain(WORD);
  expect(world.model.requests).toHaveLength(0);
});

test('a guard of tools that is written another way and throws when it is added to a running assistant denies too', async () => {
  await using world = await startWorld({
    furnish: (home) =>
      putGuard(home, '', 'const guard = !0; export const more = { guard }; throw new Error("no database");'),
  });
  world.model.setHandler(() => `The password is ${WORD}.`);
  expect(await says(world, 'tell me')).toContain(WORD);
  await writeFile(
    join(world.home, 'config.json'),
    JSON.stringify({ ...JSON.parse(await readFile(join(world.home, 'config.json'), 'utf8')), plugins: ['cover'] }),
  );
  await waitFor(async () => (await says(world, 'and now')).includes('no database'), { what: 'the refusal' });
});

test('a plugin that is no guard and throws at its first load keeps nobody from talking', async () => {
  await using world = await startWorld({
    config: { plugins: ['cover'] },
    furnish: async (home) => {
      await putGuard(home, '');
      await writeFile(join(home, 'plugins', 'cover', 'index.js'), 'throw new Error("no database");');
    },
  });
  world.model.setHandler(() => 'Hello.');
  expect(await says(world, 'hello')).toBe('Hello.');
});
