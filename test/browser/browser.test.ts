import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { SkippingClock } from '../support/skipping-clock.ts';
import { describeWith } from '../support/test-with.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER } from '../support/world.ts';
import {
  answer,
  browserProcesses,
  browserWorld,
  call,
  NEEDED,
  play,
  profiles,
  question,
  questions,
  refOf,
  results,
  say,
  sayAndAnswer,
  type BrowserWorld,
} from './browser-world.ts';

const SITE = 'http://site.example.com';
const OTHER = 'http://other.example.net';

const clock = new SkippingClock();

describeWith(...NEEDED)('The browser', () => {
  let stage: BrowserWorld;
  let world: BrowserWorld['world'];
  let pages: BrowserWorld['pages'];
  let asked: BrowserWorld['asked'];
  beforeAll(async () => {
    stage = await browserWorld({ clock, names: ['site.example.com', 'other.example.net'] });
    ({ world, pages, asked } = stage);
  });
  afterAll(() => stage[Symbol.asyncDispose]());
  const last = (): string => results(world).at(-1) ?? '';
  /** Has the model do this in one turn, whose questions are answered so. */
  const turn = async (
    steps: Parameters<typeof play>[1][],
    answers: Parameters<typeof sayAndAnswer>[2] = [],
  ): Promise<readonly string[]> => {
    play(world, ...steps);
    return await sayAndAnswer(world, `Look at ${SITE}/ and ${SITE}/who`, answers);
  };
  const open = (path = '/'): ReturnType<typeof call> => call({ action: 'open', url: `${SITE}${path}` });
  const act =
    (action: string, name: string, more: object = {}) =>
    (page: string) =>
      call({ action, ref: refOf(page, name), ...more });

  beforeEach(async () => {
    // Three choices on pages are free in a chat within a day, so each test begins as on a new one.
    using journal = new DatabaseSync(join(world.home, 'state.db'));
    journal.exec('DELETE FROM free_choices');
    await say(world, '/new');
    pages.clear();
    asked.length = 0;
  });

  test('opens a page, runs its scripts, shows it as a tree and presses what is named by its ref', async () => {
    pages.set('/', '<title>Bees</title><h1>Bees</h1><button onclick="this.after(`Buzz`)">Sing</button>');
    await turn([open(), act('click', 'Sing')]);
    expect(last()).toMatch(/^\[click on site\.example\.com · url=http:\/\/site\.example\.com\/ · title=Bees\]/u);
    expect(last()).toMatch(/<untrusted id="\w+" source="browser"/u);
    expect(last()).toContain('heading "Bees"');
    expect(last()).toContain('Buzz');
    const entries = (await world.tape(`telegram:${OWNER}`)).filter(
      (one) => one.kind === 'message' && one.role === 'tool',
    );
    expect(entries.slice(-2).map(({ untrusted }) => untrusted)).toEqual([true, true]);
  });

  test('shows a picture of the page to the model', async () => {
    pages.set('/', '<h1>Bees</h1>');
    await turn([open(), call({ action: 'screenshot' })]);
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('data:image/jpeg;base64,');
  });

  test('goes back, scrolls, selects, presses keys and looks again', async () => {
    pages.set('/', '<title>One</title><a href="/two">Two</a>');
    pages.set(
      '/two',
      '<title>Two</title><select onchange="document.title=this.value"><option>red<option>blue</select>',
    );
    const before = results(world).length;
    const steps = [open(), act('click', 'link "Two"'), act('select', 'combobox', { text: 'blue' })];
    const others = [
      { action: 'press', text: 'Escape' },
      { action: 'scroll' },
      { action: 'back' },
      { action: 'snapshot' },
    ];
    const asked = await turn([...steps, ...others.map(call)], ['approve', 'approve']);
    const titles = results(world)
      .slice(before)
      .map((text) => /title=(?<title>\w+)/u.exec(text)?.groups?.['title']);
    expect(titles).toEqual(['One', 'Two', 'blue', 'blue', 'blue', 'One', 'One']);
    // The fourth choice on one site, of which strangers say what there is to choose.
    expect(asked[0]).toContain('Go on using the pages of site.example.com?');
  });

  test('types only what the owner has read, and sends a form only after another yes', async () => {
    pages.set(
      '/',
      '<form method="post" action="/order"><label>Name <input name="name"></label><button>Order</button></form>',
    );
    pages.set('/order', '<title>Ordered</title>');
    const steps = [open(), act('type', 'Name', { text: 'Ming & Co' }), act('click', 'Order')];
    const [typing = '', sending = ''] = await turn(steps, ['approve', 'approve']);
    expect(typing).toContain('Type into a page of site.example.com?');
    expect(typing).toContain('textbox "Name": Ming & Co');
    expect(sending).toContain('Let a web page send something to site.example.com?');
    expect(sending).toContain(`POST ${SITE}/order`);
    expect(sending).toContain('name: Ming & Co');
    expect(last()).toContain('title=Ordered');
    expect(asked).toContainEqual({
      method: 'POST',
      host: 'site.example.com',
      path: '/order',
      body: 'name=Ming+%26+Co',
    });
  });

  test('asks once for each site and method: a no holds as long as the browser', async () => {
    pages.set('/', '<button onclick="fetch(`/api`,{method:`POST`,body:`1`}).catch(()=>{})">Send</button>');
    const before = questions(world).length;
    await turn([open(), act('click', 'Send'), act('click', 'Send')], ['deny']);
    expect(questions(world).length - before).toBe(1);
    expect(last()).toContain('Sending POST to site.example.com was refused: the owner was asked and did not allow it.');
    expect(asked.map(({ method }) => method)).toEqual(['GET']);
  });

  test('sends nothing by itself while a page is read, unless the owner was to be asked', async () => {
    pages.set(
      '/',
      '<script>fetch("/api",{method:"POST",body:"x"}).then(()=>document.title="Sent").catch(()=>{})</script>',
    );
    pages.set('/api', 'fine');
    await turn([open()]);
    expect(last()).toContain('open it with allowSending: true to have the owner asked');
    expect(asked.map(({ method }) => method)).toEqual(['GET']);
    await turn([call({ action: 'open', url: `${SITE}/`, allowSending: true })], ['approve']);
    expect(last()).toContain('title=Sent');
  });

  test('keeps the whole of a long page in a file that can be read', async () => {
    pages.set('/', `<ul>${Array.from({ length: 3_000 }, (_, n) => `<li>item ${n}</li>`).join('')}</ul>`);
    const read = (page: string) => {
      const path = /pages: (?<path>\S+)\)/u.exec(page)?.groups?.['path'];
      return { calls: [{ name: 'read_file', arguments: { path, offset: 2_990 } }] };
    };
    await turn([open(), read]);
    const [page = '', file = ''] = results(world).slice(-2);
    expect(page.length).toBeLessThan(17_000);
    expect(page).toContain('item 100');
    expect(page).toContain('more characters of this page');
    expect(file).toContain('item 2989');
    expect(file).toMatch(/<untrusted id/u);
  });

  test('downloads a file with the cookies of the page once the owner said yes, and nothing before', async () => {
    pages.set('/', { headers: { 'set-cookie': 'who=ming' }, body: '<a href="/bill.pdf" download>Bill</a>' });
    pages.set('/bill.pdf', { type: 'application/pdf', body: '%PDF-bill' });
    const path = join(world.workspace, 'downloads', 'bill.pdf');
    play(world, open(), act('click', 'Bill'), call({ action: 'download', url: `${SITE}/bill.pdf` }));
    world.telegram.userSays(OWNER, `Get the bill from ${SITE}/bill.pdf`);
    const asks = await question(world, questions(world).length);
    expect(results(world).at(-1)).toContain('A download was not begun: bill.pdf');
    expect(existsSync(path)).toBe(false);
    expect(asks).toContain('Download a file?');
    expect(asks).toContain(path);
    answer(world, asks, 'approve');
    await waitFor(() => existsSync(path), { what: 'the file' });
    expect(await readFile(path, 'utf8')).toBe('%PDF-bill');
    await waitFor(() => chatOf(world).at(-1) === 'Done.', { what: 'the end of the turn' });
  });

  test('gives a file of the workspace to a page once the owner said yes to that file', async () => {
    await writeFile(join(world.workspace, 'letter.txt'), 'Dear bees');
    pages.set(
      '/',
      '<input type="file" onchange="this.files[0].text().then(text=>document.title=text.replace(` `,`_`))">',
    );
    const [asks = ''] = await turn([open(), act('upload', 'button', { path: 'letter.txt' })], ['approve']);
    expect(asks).toContain('Give a file to a web page?');
    expect(asks).toContain('letter.txt');
    expect(last()).toContain('title=Dear_bees');
  });

  test('keeps its cookies while the conversation goes on, and loses all with /new', async () => {
    pages.set('/', { headers: { 'set-cookie': 'who=ming; max-age=1000' }, body: 'in' });
    pages.set('/who', '<script>document.title=document.cookie</script>');
    const look = async (): Promise<string> => {
      await turn([open('/who'), call({ action: 'close' })]);
      return results(world).at(-2) ?? '';
    };
    await turn([open(), call({ action: 'close' })]);
    await waitFor(() => browserProcesses(world.home).length === 0, { what: 'no process' });
    expect(await look()).toContain('title=who=ming');
    await say(world, '/new');
    expect(profiles(world.home)).toEqual([]);
    expect(await look()).not.toContain('who=ming');
  });

  test('ends by itself when nobody uses it for a while, and goes when its conversation is deleted', async () => {
    pages.set('/', 'hi');
    await turn([open()]);
    clock.skip(9 * 60_000);
    expect(browserProcesses(world.home).length).toBeGreaterThan(2);
    clock.skip(60_000);
    await waitFor(() => browserProcesses(world.home).length === 0, { what: 'no process' });
    expect(profiles(world.home).length).toBe(1);
    const deleted = (): Promise<boolean> =>
      world.assistant.call('sessionsDelete', { session: `telegram:${OWNER}` }).then(
        () => true,
        () => false,
      );
    await waitFor(deleted, { what: 'the turn has ended and the conversation is deleted' });
    expect(profiles(world.home)).toEqual([]);
  });

  test('ends with all of its processes at /stop and at /new', async () => {
    pages.set('/', 'hi');
    for (const command of ['/stop', '/new']) {
      await turn([open()]);
      expect(browserProcesses(world.home).length).toBeGreaterThan(2);
      world.telegram.userSays(OWNER, command);
      await waitFor(() => browserProcesses(world.home).length === 0, { what: `no process after ${command}` });
    }
  });

  test('ends when the call is stopped in the middle of a page that never lets go', async () => {
    pages.set('/', '<script>for(;;);</script>');
    play(world, open());
    world.telegram.userSays(OWNER, `Look at ${SITE}/`);
    await waitFor(() => asked.length > 0, { what: 'the page' });
    world.telegram.userSays(OWNER, '/stop');
    await waitFor(() => browserProcesses(world.home).length === 0, { what: 'no process' });
  });

  test('opens nothing in this machine or its network, by name, address or redirect', async () => {
    pages.set('/', { status: 302, headers: { location: 'http://127.0.0.1:18790/' }, body: '' });
    const urls = ['http://127.0.0.1:18790/', 'http://localhost/', 'file:///etc/passwd', `${SITE}/`];
    play(world, ...urls.map((url) => call({ action: 'open', url })));
    await say(world, `Look at http://127.0.0.1:18790/ and http://localhost/ and ${SITE}/`);
    const [one = '', two = '', three = '', four = ''] = results(world).slice(-4);
    expect(one).toContain('Refused: Fetching from 127.0.0.1:18790 was refused');
    expect(two).toContain('Refused: Fetching from localhost was refused');
    expect(three).toContain('Refused: This URL was refused');
    expect(four).toContain('Fetching from 127.0.0.1:18790 was refused');
    expect(asked.map(({ path }) => path)).toEqual(['/']);
  });

  test('asks before an address that the model made, when a page was read before', async () => {
    pages.set('/', 'hello');
    const [asks = ''] = await turn([open(), call({ action: 'open', url: `${OTHER}/?s=secret` })], ['deny']);
    expect(asks).toContain('Open a web page?');
    expect(asks).toContain(`${OTHER}/?s=secret`);
    expect(asked.map(({ host }) => host)).toEqual(['site.example.com']);
  });

  test('says what a call lacks', async () => {
    play(world, call({ action: 'click', ref: 'e1' }), call({ action: 'open' }), call({ action: 'press', text: 'a' }));
    await say(world, 'Click it');
    const [one = '', two = '', three = ''] = results(world).slice(-3);
    expect(one).toContain('No page is open in the browser.');
    expect(two).toContain('The action open needs url.');
    expect(three).toContain('one of these keys: Enter');
  });
});

describeWith(...NEEDED)('The tool browser', () => {
  test('is not there unless it is enabled, and says in the status what it lacks when it is not installed', async () => {
    const { startWorld } = await import('../support/world.ts');
    await using off = await startWorld();
    expect((await off.assistant.call('toolsList', {})).map(({ name }) => name)).not.toContain('browser');
    await using lacking = await startWorld({ config: { tools: { browser: { enabled: true } } } });
    expect((await lacking.assistant.call('toolsList', {})).map(({ name }) => name)).not.toContain('browser');
    lacking.telegram.userSays(OWNER, '/status');
    await waitFor(() => chatOf(lacking).some((text) => text.includes('playwright-core is not installed')), {
      what: 'the status',
    });
  });

  test('runs at most as many browsers as the configuration allows', async () => {
    await using one = await browserWorld({ browser: { maxSessions: 1 } });
    one.pages.set('/', 'hi');
    play(one.world, call({ action: 'open', url: `${SITE}/` }));
    await say(one.world, `Look at ${SITE}/`);
    play(one.world, call({ action: 'open', url: `${SITE}/` }));
    await one.world.assistant.run(`Look at ${SITE}/`);
    expect(results(one.world).at(-1)).toContain('1 browsers run already for other conversations');
  });

  test('ends with the gateway', async () => {
    const closing = await browserWorld();
    closing.pages.set('/', 'hi');
    play(closing.world, call({ action: 'open', url: `${SITE}/` }));
    await say(closing.world, `Look at ${SITE}/`);
    const { home } = closing.world;
    expect(browserProcesses(home).length).toBeGreaterThan(2);
    await closing[Symbol.asyncDispose]();
    await waitFor(() => browserProcesses(home).length === 0, { what: 'no process' });
  });
});
