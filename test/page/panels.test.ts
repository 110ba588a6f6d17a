import { expect, test } from 'vitest';
import { inBrowser } from './world.ts';

inBrowser('the panels of the page', (open) => {
  test('MEMORY.md is edited, and an earlier version restored', async () => {
    await using world = await open();
    const { page } = world;
    await world.show('#/memory');
    const text = page.getByRole('textbox', { name: 'Text of MEMORY.md' });
    await expect.poll(() => text.inputValue()).toContain('Lind');
    await text.fill('# Memory\n\nOnly this.\n');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    const versions = page.getByRole('region', { name: 'Earlier versions' });
    await versions.getByText('edited in the page').waitFor();
    await versions
      .getByRole('button', { name: /^Compare/u })
      .first()
      .click();
    await versions.getByText('− Only this.').waitFor();
    await versions.getByText('+ - Lind: pays at the end of the month.').waitFor();
    await versions.getByRole('button', { name: 'Restore' }).first().click();
    await versions.getByRole('button', { name: 'Restore it?' }).click();
    await expect.poll(() => text.inputValue()).toContain('Lind');
    expect(world.complaints).toEqual([]);
  });

  test('a file that somebody else changed is not overwritten without a word', async () => {
    await using world = await open();
    const { page, gateway } = world;
    await world.show('#/memory');
    const text = page.getByRole('textbox', { name: 'Text of MEMORY.md' });
    await expect.poll(() => text.inputValue()).toContain('Lind');
    await text.fill('mine');
    const hash = await gateway.operations['filesRead']?.({ name: 'MEMORY.md' });
    await gateway.operations['filesWrite']?.({ ...(hash as object), name: 'MEMORY.md', text: 'theirs' });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('MEMORY.md was changed since you opened it, so it was not saved.').waitFor();
    expect(await text.inputValue()).toBe('mine');
    await page.getByRole('button', { name: 'Show the present text' }).click();
    await expect.poll(() => text.inputValue()).toBe('theirs');
  });

  test('a job runs now, and its run is listed', async () => {
    await using world = await open();
    await world.show('#/schedule');
    await world.page.getByRole('button', { name: 'Run now: mail' }).click();
    await world.page.getByRole('status').getByText('The job runs now.').waitFor({ state: 'attached' });
    await world.page.getByRole('button', { name: 'Last runs of mail' }).click();
    await world.page.getByText('now · done · delivered').waitFor();
    expect(world.complaints).toEqual([]);
  });

  test('a zip that is dropped is shown with its risks, and is installed after a yes', async () => {
    await using world = await open();
    const { page } = world;
    await world.show('#/skills');
    await page.getByText('3 skills, 2 ready').waitFor();
    await page.getByText('apt install gh').waitFor();
    await page.locator('.zone').evaluate((zone) => {
      const data = new DataTransfer();
      data.items.add(new File(['zip'], 'recipes.zip', { type: 'application/zip' }));
      zone.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    });
    await page.getByRole('heading', { name: 'Install recipes?' }).waitFor();
    await page.getByText('python3 scale.py "$1"').waitFor();
    await page.getByRole('button', { name: 'Install', exact: true }).click();
    await page.getByText('4 skills, 3 ready').waitFor();
    await page.getByRole('button', { name: 'Switch off recipes' }).click();
    await page.getByText('4 skills, 2 ready').waitFor();
    expect(world.complaints).toEqual([]);
  });

  test('a pairing code is approved with a role', async () => {
    await using world = await open();
    const { page } = world;
    await world.show('#/people');
    await page.getByLabel('Role of Mara').selectOption('guest');
    await page.getByRole('button', { name: 'Let in Mara' }).click();
    await page.getByText('Nobody waits.').waitFor();
    expect(await page.getByLabel('Role of Mara').inputValue()).toBe('guest');
  });

  test('usage is a plot of each day, split as one likes', async () => {
    await using world = await open();
    const { page } = world;
    await world.show('#/usage');
    await page.getByRole('img', { name: 'Cost of each day by model' }).waitFor();
    expect(await page.locator('svg.plot').first().locator('g > title').count()).toBe(30);
    await page.getByText('7 days').click();
    await expect.poll(() => page.locator('svg.plot').first().locator('g > title').count()).toBe(7);
    await page.getByText('Job', { exact: true }).click();
    await page.getByRole('img', { name: 'Tokens of each day by job' }).waitFor();
    await page.getByText('77 %').waitFor();
    await page.getByText('$1.31 of $5.00 today, $3.69 left').waitFor();
  });

  test('a message that did not arrive can be sent again, and its reason is said', async () => {
    await using world = await open();
    const tried: unknown[] = [];
    world.gateway.operations['outboxRetry'] = (params) => void tried.push(params);
    await world.show('#/health');
    await world.page.getByText('Discord refused it five times: Missing Access.').waitFor();
    await world.page.getByText('1 message not delivered', { exact: false }).waitFor();
    await world.page.getByRole('button', { name: /^Try again/u }).click();
    await expect.poll(() => tried).toEqual([{ id: 'o1' }]);
  });

  test('what it did by itself is listed with the reason', async () => {
    await using world = await open();
    await world.show('#/why');
    await world.page.getByText('Three letters need an answer.').waitFor();
  });

  test('a part that fails says so in one sentence and can be tried again', async () => {
    await using world = await open();
    const { operations } = world.gateway;
    const people = operations['pairList'];
    delete operations['pairList'];
    await world.show('#/people');
    await world.page.getByRole('alert').getByText('The double does not know pairList.').waitFor();
    if (people !== undefined) operations['pairList'] = people;
    await world.page.getByRole('button', { name: 'Try again' }).click();
    await world.page.getByText('Mara').waitFor();
  });
});
