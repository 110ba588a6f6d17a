import { expect, test } from 'vitest';
import { APPROVAL } from './double/life.ts';
import { Turn } from './double/turn.ts';
import { inBrowser } from './world.ts';

inBrowser('a conversation on the page', (open) => {
  test('a login link logs in once and leaves the address bar at once', async () => {
    await using world = await open();
    expect(new URL(world.page.url()).hash).toBe('');
    await world.page.context().clearCookies();
    await world.page.goto(`${world.gateway.address}/#login=code-1`);
    await world.page.reload();
    await world.page.getByRole('heading', { name: 'Open your assistant' }).waitFor();
    await world.page.getByLabel('Token').fill('wrong');
    await world.page.getByRole('button', { name: 'Log in' }).click();
    await world.page.getByText('This login link is used up or too old.').waitFor();
    await world.page.getByLabel('Token').fill('the-token');
    await world.page.getByRole('button', { name: 'Log in' }).click();
    await world.page.getByRole('textbox', { name: 'Write to the assistant' }).waitFor();
  });

  test('an answer grows with a line for each tool, and is there once when the turn has ended', async () => {
    await using world = await open();
    const { page, gateway } = world;
    await world.write('Which files are there?');
    await page.getByText('Which files are there?').waitFor();
    const turn = new Turn(gateway);
    turn.take('Which files are there?');
    turn.tool('x', 'list_dir', 'listed notes');
    await page.getByText('listed notes').waitFor();
    expect(await page.getByText('running').isVisible()).toBe(true);
    turn.toolEnded('x', 'list_dir', 'listed notes');
    turn.say('There are **two');
    await page.getByText('There are').waitFor();
    turn.say('There are **two** files.');
    await page.locator('strong', { hasText: 'two' }).waitFor();
    turn.end();
    await page
      .getByRole('status')
      .getByText('The assistant says: There are **two** files.')
      .waitFor({ state: 'attached' });
    expect(await page.getByText('Which files are there?').count()).toBe(1);
    expect(await page.locator('.prose', { hasText: 'There are two files.' }).count()).toBe(1);
    const tool = page.locator('summary', { hasText: 'list_dir listed notes' });
    expect(await tool.count()).toBe(1);
    await tool.click();
    await page.getByText('Result of listed notes').waitFor();
    expect(world.complaints).toEqual([]);
  });

  test('nothing but the end of an answer is read out', async () => {
    await using world = await open();
    const turn = new Turn(world.gateway);
    turn.say('One');
    await world.page.getByText('One', { exact: true }).waitFor();
    const heard = world.page.getByRole('status');
    expect((await heard.allTextContents()).join('')).toBe('');
    const live = await world.page.locator('[aria-live], [role=status], [role=log], [role=alert]').all();
    expect(live).toHaveLength(1);
    turn.end();
    await heard.getByText('The assistant says: One').waitFor({ state: 'attached' });
  });

  test('the stop button stops the turn of this conversation', async () => {
    await using world = await open();
    const turn = new Turn(world.gateway);
    turn.say('I begin');
    world.gateway.onStop = () => turn.end('stopped');
    await world.page.getByRole('button', { name: 'Stop' }).click();
    await expect.poll(() => world.gateway.stopped).toEqual(['main']);
    await world.page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
  });

  test('an approval shows exactly what would run, and the button decides it', async () => {
    await using world = await open();
    world.gateway.ask([APPROVAL]);
    const question = world.page.getByRole('region', { name: APPROVAL.title });
    expect(await question.locator('pre').textContent()).toBe(APPROVAL.detail);
    await question.getByRole('button', { name: 'Do not allow' }).click();
    await question.waitFor({ state: 'detached' });
    expect(world.gateway.answered).toMatchObject([{ code: 'K7Q2', decision: 'deny' }]);
  });

  test('a question of the model is answered by a choice or in own words', async () => {
    await using world = await open();
    const question = { ...APPROVAL, kind: 'ask' as const, title: 'Which colour?', choices: ['red', 'blue'] };
    world.gateway.ask([question, { ...question, code: 'second', title: 'Which size?' }]);
    const first = world.page.getByRole('region', { name: 'Which colour?' });
    await first.getByRole('button', { name: 'blue' }).click();
    const second = world.page.getByRole('region', { name: 'Which size?' });
    await second.getByLabel('Your answer').fill('a small one');
    await second.getByRole('button', { name: 'Answer' }).click();
    await second.waitFor({ state: 'detached' });
    expect(world.gateway.answered).toMatchObject([
      { code: 'K7Q2', decision: 'answer', text: 'blue' },
      { code: 'second', decision: 'answer', text: 'a small one' },
    ]);
  });

  test('what one writes while it works is sent and shown at once', async () => {
    await using world = await open();
    const turn = new Turn(world.gateway);
    turn.say('Working on it');
    await world.page.getByPlaceholder('Add something while it works').waitFor();
    await world.write('Use the short form');
    await world.page.getByRole('article', { name: 'You' }).getByText('Use the short form').waitFor();
    await expect.poll(() => world.gateway.messages.map(({ text }) => text)).toEqual(['Use the short form']);
    turn.end();
  });

  test('a reload in mid-answer shows what there is so far, and then the rest', async () => {
    await using world = await open();
    const turn = new Turn(world.gateway);
    turn.say('Half of');
    await world.page.getByText('Half of').waitFor();
    await world.page.reload();
    await world.page.getByText('Half of').waitFor();
    turn.say('Half of it and the other half');
    await world.page.getByText('the other half').waitFor();
    turn.end();
    await world.page.getByRole('button', { name: 'Retry' }).waitFor();
    expect(await world.page.locator('.prose', { hasText: 'the other half' }).count()).toBe(1);
  });

  test('a lost connection is said; what was missed comes, and what was written is sent once', async () => {
    await using world = await open();
    const { page, gateway } = world;
    const turn = new Turn(gateway);
    turn.say('Begun');
    await page.getByText('Begun').waitFor();
    await page.context().setOffline(true);
    gateway.cut();
    await page.getByText('Offline. What you write is kept here').waitFor();
    await world.write('Written offline');
    await page.getByText('Written offline').waitFor();
    turn.say('Begun and ended');
    turn.end();
    await page.context().setOffline(false);
    await page.getByText('Begun and ended').waitFor();
    await expect.poll(() => gateway.messages.map(({ text }) => text), { timeout: 20_000 }).toEqual(['Written offline']);
    await page.getByText('Offline.').waitFor({ state: 'detached' });
    expect(await page.getByText('Written offline').count()).toBe(1);
  });

  test('two tabs show the same', async () => {
    await using world = await open();
    const other = await world.tab();
    await world.write('From the first tab');
    await other.getByText('From the first tab').waitFor();
    const turn = new Turn(world.gateway);
    turn.take('From the first tab');
    turn.say('To both');
    turn.end();
    for (const page of [world.page, other]) {
      await page.getByRole('article', { name: 'Assistant' }).getByText('To both').waitFor();
      expect(await page.getByText('From the first tab').count()).toBe(1);
    }
  });

  test('a pasted image is uploaded and goes with the message', async () => {
    await using world = await open();
    await world.page.getByRole('textbox', { name: 'Write to the assistant' }).evaluate((field) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array([137, 80, 78, 71])], 'shot.png', { type: 'image/png' }));
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    });
    await world.page.getByRole('list', { name: 'Attached files' }).getByText('shot.png').waitFor();
    await world.write('What is this?');
    await expect
      .poll(() => world.gateway.messages)
      .toMatchObject([{ text: 'What is this?', media: [{ upload: 'upload-1', name: 'shot.png' }] }]);
    expect(world.gateway.uploads).toMatchObject([{ name: 'shot.png', mediaType: 'image/png', size: 4 }]);
    expect(world.complaints).toEqual([]);
  });

  test('conversations of other channels are found and can be read, not written to', async () => {
    await using world = await open();
    const { page } = world;
    await page.getByRole('button', { name: 'Conversations' }).click();
    await page.getByRole('searchbox').fill('morning');
    await page.getByRole('link', { name: /morning/u }).click();
    await page.getByText('This conversation is on telegram.').waitFor();
    await page.getByText('Good morning!').waitFor();
    expect(await page.getByRole('textbox', { name: 'Write to the assistant' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Conversations' }).click();
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
    await world.write('Something new');
    await expect.poll(() => world.gateway.messages[0]?.chat).toMatch(/^[\w-]{36}$/u);
  });

  test('a conversation is saved as Markdown', async () => {
    await using world = await open();
    await world.page.getByRole('button', { name: 'Conversations' }).click();
    const [download] = await Promise.all([
      world.page.waitForEvent('download'),
      world.page.getByRole('button', { name: 'Save this conversation as Markdown' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('conversation.md');
  });
});
