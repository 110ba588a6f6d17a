import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inBrowser, OWNER } from './world.ts';

/** One pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const config = { tools: { exec: { mode: 'ask', sandbox: 'off' } } };

inBrowser(
  'a conversation on the page',
  (open) => {
    test('a login link logs in once and leaves the address bar at once; the token logs in too', async () => {
      await using visit = await open();
      const { page, assistant, address } = visit;
      await page.context().clearCookies();
      const { link } = await assistant.assistant.call('pageLink', {});
      await page.goto(link);
      await page.reload();
      await page.getByRole('textbox', { name: 'Write to the assistant' }).waitFor();
      expect(page.url()).toBe(`${address}/`);
      await page.context().clearCookies();
      await page.goto(link);
      await page.reload();
      await page.getByRole('heading', { name: 'Open your assistant' }).waitFor();
      await page.getByLabel('Token').fill('wrong');
      await page.getByRole('button', { name: 'Log in' }).click();
      await page.getByText('This code or token is not valid, or no longer.').waitFor();
      await page.getByLabel('Token').fill(await readFile(join(assistant.home, 'gateway.token'), 'utf8'));
      await page.getByRole('button', { name: 'Log in' }).click();
      await page.getByRole('textbox', { name: 'Write to the assistant' }).waitFor();
    });

    test('an answer grows with a line for each tool, and is there once when the turn has ended', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      assistant.model.reply(
        { calls: [{ name: 'list_dir', arguments: { path: '.' } }] },
        { text: `There are **two** files in the folder${', and more'.repeat(8)}.`, chunkSize: 4, eventDelayMs: 60 },
      );
      await visit.write('Which files are there?');
      await page.locator('.said', { hasText: 'Which files are there?' }).waitFor();
      // While it runs, and when it has ended.
      await page.locator('.step', { hasText: /list_dir|listed/u }).waitFor();
      await page.locator('[aria-busy] strong', { hasText: 'two' }).waitFor();
      await page
        .getByRole('status')
        .getByText('The assistant says: There are **two** files in the folder')
        .waitFor({ state: 'attached' });
      await expect.poll(() => page.locator('.said', { hasText: 'Which files are there?' }).count()).toBe(1);
      await expect.poll(() => page.locator('.prose', { hasText: 'There are two files' }).count()).toBe(1);
      const tool = page.locator('summary', { hasText: 'list_dir' });
      await expect.poll(() => tool.count()).toBe(1);
      await tool.click();
      await page.locator('pre.output').waitFor();
      expect(visit.complaints).toEqual([]);
    });

    test('a turn that was followed is not fetched again, and a reload shows the same', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      const fetched: string[] = [];
      page.on('request', (request) => {
        if (request.url().includes('/history')) fetched.push(request.url());
      });
      const look = { calls: [{ name: 'list_dir', arguments: { path: '.' } }] };
      assistant.model.reply({ ...look, reasoning: 'Where?', text: 'I look.' }, 'Nothing there.', 'The end.');
      await visit.converse('Look', 'Nothing there.');
      await visit.converse('Go on', 'The end.');
      await page.locator('[aria-busy]').waitFor({ state: 'detached' });
      const entries = page.locator('.entries > li');
      const shown = async (): Promise<readonly (string | undefined)[]> =>
        (await entries.allInnerTexts()).map((text) => text.split('\n')[0]);
      const before = await shown();
      expect(before).toEqual([
        'Look',
        'Thought about it',
        'I look.',
        'list_dir .',
        'Nothing there.',
        'Go on',
        'The end.',
      ]);
      expect(fetched).toEqual([]);
      await page.reload();
      await entries.nth(before.length - 1).waitFor();
      expect(await shown()).toEqual(before);
      expect(fetched.length).toBeGreaterThan(0);
    });

    test('nothing but the end of an answer is read out', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      assistant.model.reply({ text: 'One and two and three and four.', chunkSize: 4, eventDelayMs: 400 });
      await visit.write('Count');
      await page.getByText('One and').waitFor();
      const heard = page.getByRole('status');
      expect((await heard.allTextContents()).join('')).toBe('');
      const live = await page.locator('[aria-live], [role=status], [role=log], [role=alert]').all();
      expect(live).toHaveLength(1);
      await heard.getByText('The assistant says: One and two').waitFor({ state: 'attached' });
    });

    test('the stop button stops the turn of this conversation', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      assistant.model.reply({ text: 'I begin and go on. '.repeat(200), eventDelayMs: 50 });
      await visit.write('Tell me everything');
      await page.getByText('I begin').waitFor();
      const asked = assistant.model.requests.at(-1);
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
      await expect.poll(() => asked?.clientGone).toBe(true);
      await page.getByRole('status').getByText('The assistant has stopped.').waitFor({ state: 'attached' });
    });

    test('an approval shows exactly what would run, and the button decides it', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      const exec = (command: string): object => ({ calls: [{ name: 'exec', arguments: { command } }] });
      assistant.model.reply(exec('touch denied'), exec('touch allowed'), 'One of two.');
      await visit.write('Make two files');
      const question = page.getByRole('region').filter({ has: page.getByRole('button', { name: 'Allow once' }) });
      await question.locator('pre', { hasText: 'touch denied' }).waitFor();
      await expect.poll(() => page.locator('.step', { hasText: 'touch denied' }).count()).toBe(1);
      await question.getByRole('button', { name: 'Do not allow' }).click();
      await question.locator('pre', { hasText: 'touch allowed' }).waitFor();
      await question.getByRole('button', { name: 'Allow once' }).click();
      await page.locator('.prose', { hasText: 'One of two.' }).waitFor();
      await question.waitFor({ state: 'detached' });
      expect(['denied', 'allowed'].map((name) => existsSync(join(assistant.workspace, name)))).toEqual([false, true]);
      expect(visit.complaints).toEqual([]);
    });

    test('a question of the model is answered by a choice or in own words', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      const ask = (question: string, ...choices: string[]): object => ({
        calls: [{ name: 'ask_user', arguments: { question, choices } }],
      });
      assistant.model.reply(ask('Which colour?', 'red', 'blue'), ask('Which size?', 'large', 'tiny'), 'Thank you.');
      await visit.write('Paint it');
      const question = (title: string) => page.getByRole('region', { name: title });
      await question('Which colour?').getByRole('button', { name: 'blue' }).click();
      await question('Which size?').getByLabel('Your answer').fill('a small one');
      await question('Which size?').getByRole('button', { name: 'Answer' }).click();
      await page.locator('.prose', { hasText: 'Thank you.' }).waitFor();
      const read = JSON.stringify(assistant.model.requests.at(-1)?.body);
      expect(read).toContain('blue');
      expect(read).toContain('a small one');
    });

    test('what one writes while it works is shown at once, and reaches the model in the same turn', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      const before = assistant.model.requests.length;
      assistant.model.reply(
        { calls: [{ name: 'list_dir', arguments: { path: '.' } }], delayMs: 1_500 },
        'The short form it is.',
      );
      await visit.write('Begin');
      await page.getByPlaceholder('Add something while it works').waitFor();
      await visit.write('Use the short form');
      await page.getByRole('article', { name: 'You' }).locator('.said', { hasText: 'Use the short form' }).waitFor();
      await page.locator('.prose', { hasText: 'The short form it is.' }).waitFor();
      expect(assistant.model.requests.length).toBe(before + 2);
      expect(JSON.stringify(assistant.model.requests.at(-1)?.body)).toContain('Use the short form');
      await expect.poll(() => page.locator('.said', { hasText: 'Use the short form' }).count()).toBe(1);
    });

    test('a reload in mid-answer shows what there is so far, and then the rest', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      assistant.model.reply({
        text: `Half of it ${'and more '.repeat(20)}to the end`,
        chunkSize: 6,
        eventDelayMs: 100,
      });
      await visit.write('All of it');
      await page.getByText('Half of it').waitFor();
      await page.reload();
      await page.locator('[aria-busy]').getByText('Half of it').waitFor();
      await page.locator('.prose', { hasText: 'to the end' }).waitFor();
      await page.getByRole('button', { name: 'Retry' }).waitFor();
      await expect.poll(() => page.locator('.prose', { hasText: 'to the end' }).count()).toBe(1);
      await expect.poll(() => page.locator('.said', { hasText: 'All of it' }).count()).toBe(1);
    });

    test('a reload shows the same in the same order: reminders, files that were sent, commands, answers', async () => {
      await using visit = await open();
      const { page, assistant, session } = visit;
      const entries = page.locator('.entries > li');
      const shown = async (): Promise<readonly (readonly string[])[]> =>
        (await entries.allInnerTexts()).map((text) => text.split('\n').filter((line) => !/^(?:now|\d)/u.test(line)));
      await writeFile(join(assistant.workspace, 'plan.txt'), 'a plan');
      assistant.model.reply(
        { calls: [{ name: 'message', arguments: { text: 'Here it is.', media: ['plan.txt'] } }] },
        'That was all.',
      );
      await visit.converse('Send me the plan', 'That was all.');
      const job = { id: 'tea', kind: 'message', text: 'Drink tea.', when: 'in 5 hours', chat: session } as const;
      await assistant.assistant.call('cron', { action: 'add', job });
      await assistant.assistant.call('cron', { action: 'run', id: 'tea' });
      await entries.filter({ hasText: 'from the reminder tea' }).waitFor();
      await visit.write('/usage');
      await entries.filter({ hasText: 'tokens in' }).waitFor();
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
      await expect.poll(async () => (await shown()).length).toBe(8);
      const before = await shown();
      await page.reload();
      await entries.filter({ hasText: 'Drink tea.' }).waitFor();
      expect(await shown()).toEqual(before);
      expect(before.map(([first]) => first)).toEqual([
        'Send me the plan',
        'message Here it is.',
        'Here it is.',
        'plan.txt',
        'That was all.',
        'Drink tea.',
        '/usage',
        expect.stringContaining('tokens in'),
      ]);
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'plan.txt' }).click(),
      ]);
      expect(await readFile(await download.path(), 'utf8')).toBe('a plan');
      expect(visit.complaints).toEqual([]);
    });

    test('a lost connection is said; what was missed comes, and what was written is sent once', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      assistant.model.reply({ text: 'Begun and never mind, ended', chunkSize: 6, eventDelayMs: 200 }, 'Got it.');
      await visit.write('Go on');
      await page.getByText('Begun').waitFor();
      await page.context().setOffline(true);
      await page.getByText('Offline. What you write is kept here').waitFor();
      await visit.write('Written offline');
      await page.locator('.said', { hasText: 'Written offline' }).waitFor();
      await expect.poll(() => assistant.model.inFlight, { timeout: 10_000 }).toBe(0);
      await page.context().setOffline(false);
      await page.locator('.prose', { hasText: 'never mind, ended' }).waitFor();
      await page.locator('.prose', { hasText: 'Got it.' }).waitFor();
      await page.getByText('Offline.').waitFor({ state: 'detached' });
      await expect.poll(() => page.locator('.said', { hasText: 'Written offline' }).count()).toBe(1);
      await expect.poll(() => page.locator('.prose', { hasText: 'never mind, ended' }).count()).toBe(1);
      expect(JSON.stringify(assistant.model.requests.at(-1)?.body).split('Written offline')).toHaveLength(2);
    });

    test('two tabs show the same', async () => {
      await using visit = await open();
      const other = await visit.tab();
      visit.assistant.model.reply({ text: 'To both of them', chunkSize: 4, eventDelayMs: 50 });
      await visit.write('From the first tab');
      await other.locator('.said', { hasText: 'From the first tab' }).waitFor();
      for (const page of [visit.page, other]) {
        await page.getByRole('article', { name: 'Assistant' }).getByText('To both of them').waitFor();
        await expect.poll(() => page.locator('.said', { hasText: 'From the first tab' }).count()).toBe(1);
      }
    });

    test('a pasted image is uploaded, goes with the message, and stays in the conversation', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      await page.getByRole('textbox', { name: 'Write to the assistant' }).evaluate((field, pixel) => {
        const data = new DataTransfer();
        const bytes = Uint8Array.from(atob(pixel), (sign) => sign.charCodeAt(0));
        data.items.add(new File([bytes], 'shot.png', { type: 'image/png' }));
        field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
      }, PIXEL);
      await page.getByRole('list', { name: 'Attached files' }).getByText('shot.png').waitFor();
      assistant.model.reply('A dot.');
      await visit.converse('What is this?', 'A dot.');
      expect(JSON.stringify(assistant.model.requests.at(-1)?.body)).toContain(PIXEL);
      await page.reload();
      const image = page.getByRole('img', { name: 'Image in this message' });
      await image.waitFor();
      await expect.poll(() => image.evaluate((seen: HTMLImageElement) => seen.naturalWidth)).toBe(1);
      expect(visit.complaints).toEqual([]);
    });

    test('conversations of other channels are found and can be read, not written to', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      assistant.model.reply('Good morning to you!');
      assistant.telegram.userSays(42, 'What a fine morning');
      await expect.poll(() => assistant.telegram.sentMessages.length).toBeGreaterThan(0);
      await page.getByRole('button', { name: 'Conversations' }).click();
      await page.getByRole('searchbox').fill('fine morning');
      await page.getByRole('link', { name: /fine morning/u }).click();
      await page.getByText('This conversation is on telegram.').waitFor();
      await page.locator('.prose', { hasText: 'Good morning to you!' }).waitFor();
      expect(await page.getByRole('textbox', { name: 'Write to the assistant' }).count()).toBe(0);
      await page.getByRole('button', { name: 'Conversations' }).click();
      await page.getByRole('button', { name: 'New conversation' }).click();
      await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
      assistant.model.reply('A new one.');
      await visit.converse('Something new', 'A new one.');
      expect(page.url()).toMatch(/#\/chat\/web%3A[\w-]{36}$/u);
      expect(visit.complaints).toEqual([]);
    });

    test('a conversation is saved as Markdown', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      assistant.model.reply('Saved **too**.');
      await visit.converse('To be saved', 'Saved too.');
      await page.getByRole('button', { name: 'Conversations' }).click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Save this conversation as Markdown' }).click(),
      ]);
      expect(download.suggestedFilename()).toMatch(/\.md$/u);
      const text = await readFile(await download.path(), 'utf8');
      expect(text).toContain('To be saved');
      expect(text).toContain('Saved **too**.');
    });
  },
  { config },
);

const project = ({ channel, chatId }: { readonly channel: string; readonly chatId: string }): string | undefined =>
  channel === 'web' && chatId !== 'main' ? `project:${chatId}` : undefined;

inBrowser(
  'a chat of the page whose messages are taken to a session of another name',
  (open) => {
    test('is the conversation that all direct chats of the owner share (session.unified)', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      assistant.model.reply('To the phone.', 'To the page.');
      assistant.telegram.userSays(OWNER, 'From the phone');
      await visit.show('#/');
      await page.locator('.prose', { hasText: 'To the phone.' }).waitFor();
      await visit.converse('From the page', 'To the page.');
      await page.reload();
      const shown = page.locator('.entries > li');
      await shown.nth(3).waitFor();
      const texts = (await shown.allInnerTexts()).map((text) => text.split('\n')[0]);
      expect(texts).toEqual(['From the phone', 'To the phone.', 'From the page', 'To the page.']);
      await page.getByRole('textbox', { name: 'Write to the assistant' }).waitFor();
    });

    test('shows an answer that came while the conversation was still being loaded', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      let isRead = (): void => {};
      const read = new Promise<void>((resolve) => (isRead = resolve));
      let letGo = (): void => {};
      const held = new Promise<void>((resolve) => (letGo = resolve));
      assistant.model.setHandler(async () => {
        await read;
        return 'Long since said.';
      });
      // Read before the answer, and there only after the turn has ended.
      await page.route(
        '**/history?*',
        async (route) => {
          const response = await route.fetch();
          isRead();
          await held;
          await route.fulfill({ response });
        },
        { times: 1 },
      );
      await visit.write('Say it early');
      await page.getByRole('status').getByText('The assistant says: Long since said.').waitFor({ state: 'attached' });
      letGo();
      await page.locator('.prose', { hasText: 'Long since said.' }).waitFor();
    });

    test('shows the session that a hook names, and goes on in it after a reload', async () => {
      await using visit = await open();
      const { page, assistant, chat } = visit;
      assistant.model.reply('The project began.', 'It goes on.');
      await visit.converse('Begin', 'The project began.');
      expect(page.url()).toContain(`#/chat/${encodeURIComponent(`project:${chat}`)}`);
      await page.reload();
      await page.locator('.prose', { hasText: 'The project began.' }).waitFor();
      await visit.converse('Go on', 'It goes on.');
      expect(await page.locator('.said').allInnerTexts()).toHaveLength(2);
    });
  },
  { config: { session: { unified: true } }, hooks: [{ owner: 'projects', hooks: { session: project } }] },
);
