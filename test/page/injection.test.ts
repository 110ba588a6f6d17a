import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { APPROVAL, item } from './double/life.ts';
import { Turn } from './double/turn.ts';
import { inBrowser, type World } from './world.ts';

/** Each would set `window.taken` if anything of it ran. */
const ATTACKS = [
  '<script>window.taken=1</script>',
  '<img src=x onerror="window.taken=1">',
  '<svg onload="window.taken=1"><a href="javascript:window.taken=1">x</a></svg>',
  '[click](javascript:window.taken=1)',
  '[click](data:text/html,<script>window.taken=1</script>)',
  '<javascript:window.taken=1>',
  '![picture](https://evil.example/pixel.png)',
  '![picture](data:image/svg+xml,<svg/onload=window.taken=1>)',
  '[a]: javascript:window.taken=1\n\n[a]',
  '<iframe srcdoc="<script>parent.taken=1</script>"></iframe>',
  'gnp.exe\u202Efdp.eciovni',
  '```"><img src=x onerror=window.taken=1>\ncode\n```',
];
const ALL = ATTACKS.join('\n\n');

async function isHarmless(page: Page): Promise<void> {
  for (const link of await page.locator('a[href]').all()) {
    const href = (await link.getAttribute('href')) ?? '';
    expect(href).toMatch(/^(?:#\/|https?:|mailto:|\/api\/)/u);
    if (/^https?:/u.test(href)) expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
  }
  expect(await page.evaluate(() => 'taken' in window)).toBe(false);
  const foreign = 'iframe, object, embed, base, [onerror], [onload], img:not([src^="/"], [src^="blob:"])';
  expect(await page.locator(foreign).count()).toBe(0);
  expect(await page.locator('#page script, #page style').count()).toBe(0);
  const text = await page.locator('body').innerText();
  expect(text).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/u);
}

async function outsideRequests(world: World): Promise<readonly string[]> {
  const asked: string[] = [];
  world.page.context().on('request', (request) => {
    if (!request.url().startsWith(world.gateway.address) && !request.url().startsWith('blob:'))
      asked.push(request.url());
  });
  return asked;
}

inBrowser('what comes from outside does nothing on the page', (open) => {
  test('in an answer, while it grows and when it has ended', async () => {
    await using world = await open();
    const asked = await outsideRequests(world);
    const turn = new Turn(world.gateway);
    for (let length = 20; length < ALL.length; length += 61) turn.say(ALL.slice(0, length));
    turn.say(`${ALL}\n\ngrown`);
    await world.page.getByText('grown', { exact: true }).waitFor();
    await isHarmless(world.page);
    turn.end();
    await world.page.getByRole('button', { name: 'Retry' }).waitFor();
    expect(await world.page.getByRole('link', { name: 'Image: picture' }).count()).toBe(1);
    await isHarmless(world.page);
    expect(asked).toEqual([]);
    expect(world.complaints).toEqual([]);
  });

  test('in a message, a tool call and its result, a reasoning and a question', async () => {
    await using world = await open();
    const asked = await outsideRequests(world);
    const { gateway, page } = world;
    gateway.history.set('web:main', [
      item(9_000, 'user', ALL),
      item(8_000, 'reasoning', ALL),
      item(7_000, 'call', JSON.stringify({ path: ALL, [ALL]: ALL }), { name: ALL, callId: 'a' }),
      item(6_000, 'result', ALL, { callId: 'a' }),
      item(5_000, 'mark', ALL),
      item(4_000, 'assistant', 'The end.'),
    ]);
    gateway.questions = [
      { ...APPROVAL, title: ALL, detail: ALL, reason: ALL, always: ALL },
      { ...APPROVAL, code: 'b', kind: 'ask', title: ALL, choices: [ALL] },
    ];
    await page.reload();
    await page.getByText('The end.').waitFor();
    for (const line of await page.locator('details.step').all()) await line.locator('summary').click();
    await page.locator('pre.output').waitFor();
    await isHarmless(page);
    expect(asked).toEqual([]);
    expect(world.complaints).toEqual([]);
  });

  test('in the names of files, skills, people, jobs, conversations and models', async () => {
    await using world = await open();
    const asked = await outsideRequests(world);
    const { gateway, page } = world;
    gateway.row({
      direction: 'out',
      id: 'file',
      session: 'web:main',
      channel: 'web',
      chat: 'main',
      kind: 'notice',
      text: ALL,
      turn: null,
      at: Date.now(),
      state: 'delivered',
      media: ATTACKS.map((name) => ({ name, mediaType: 'text/html', url: 'javascript:window.taken=1' })),
      buttons: [[{ id: `say:${ALL}`, label: ALL }]],
    });
    await page.getByRole('list', { name: 'Files' }).waitFor();
    await isHarmless(page);
    const inside = (value: unknown): unknown => {
      if (typeof value === 'string') return /^\d{4}-/u.test(value) ? value : `${value} ${ALL}`;
      if (Array.isArray(value)) return value.map(inside);
      if (typeof value !== 'object' || value === null) return value;
      const kept = new Set(['action', 'state', 'role', 'kind', 'unit', 'session', 'source']);
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, kept.has(key) ? part : inside(part)]));
    };
    for (const [name, answer] of Object.entries(gateway.operations)) {
      gateway.operations[name] = (params) => inside(answer(params));
    }
    for (const place of ['', '#/skills', '#/people', '#/schedule', '#/usage', '#/health', '#/why']) {
      await world.show(place);
      await page.getByRole('button', { name: 'Conversations' }).click();
      await page.getByText('window.taken=1').first().waitFor();
      await isHarmless(page);
      await page.keyboard.press('Escape');
    }
    expect(asked).toEqual([]);
    expect(world.complaints).toEqual([]);
  });
});
