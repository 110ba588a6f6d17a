import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../config/temporary-home.ts';
import { runCommand, type CommandRun } from '../support/command-run.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import type { FakeModel } from '../support/fake-model.ts';
import { startServer } from '../support/http.ts';
import type { RequestView, Step } from '../support/model-script.ts';

const KEY = 'lab-key-1234567890';
const MODEL = 'openai/lab';
const PRICED = { contextWindow: 100_000, price: { input: 1_000, output: 1_000 } };

let model: FakeModel;
beforeAll(async () => {
  model = await startFakeOpenAi({ apiKey: KEY });
});
afterAll(() => model[Symbol.asyncDispose]());
beforeEach(() => model.setHandler(() => 'I do not know.'));

interface HomeOptions {
  readonly cases?: string;
  readonly body?: string;
  readonly more?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** A home with the skill `tea`, which says how tea is made. */
function homeWith({
  cases,
  body = 'Say that tea needs four minutes.',
  more = '',
  settings = {},
}: HomeOptions = {}): string {
  const home = temporaryFolder();
  const config = {
    agent: { model: MODEL },
    providers: { openai: { apiKey: KEY, baseUrl: model.url } },
    models: { [MODEL]: PRICED },
    log: { level: 'error' },
    ...settings,
  };
  put(join(home, 'config.json'), JSON.stringify(config));
  const skill = join(home, 'workspace/skills/tea');
  put(join(skill, 'SKILL.md'), `---\nname: tea\ndescription: How tea is made.\n${more}---\n${body}\n`);
  if (cases !== undefined) put(join(skill, 'cases.yaml'), cases);
  return home;
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: 0o600 });
}

/** A model that loads the skill if it is told of it, and says how long tea takes only if it has read it. */
function teaModel({ system, toolResults }: RequestView): Step {
  if (toolResults.some(({ text }) => text.includes('four minutes'))) return 'Four minutes.';
  if (system.includes('How tea is made.')) return { calls: [{ name: 'skill', arguments: { name: 'tea' } }] };
  return 'I am not sure.';
}

const lab = (home: string, ...words: readonly string[]): Promise<CommandRun> => runCommand(['skills', ...words], home);

/** The hash of every file of a home by its path. */
function filesOf(folder: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name);
    if (statSync(path).isFile()) found[name] = createHash('sha256').update(readFileSync(path)).digest('hex');
  }
  return found;
}

const trialFolders = (): readonly string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('assistant-trial-'));

describe('assistant skills test', () => {
  const CASES = `
- name: how long
  prompt: How long does tea take?
  activates: true
  calls: skill
  contains: four minutes
- prompt: What is 17 times 3?
  activates: false
  contains: "51"
`;

  test('runs each case with the skill and without it, and compares what they took', async () => {
    const home = homeWith({ cases: CASES });
    model.setHandler(({ view }) => (view.lastUserText.includes('17 times 3') ? 'It is 51.' : teaModel(view)));
    const { code, out, err } = await lab(home, 'test', 'tea');
    expect(err).toBe(
      '2 cases, each with and without the skill: at most 40 model calls, about $1.00 and 30 minutes. Nothing but the model is asked or changed.\n',
    );
    const rows = out.split('\n');
    expect(rows[0]).toMatch(/with the skill +without it$/u);
    expect(rows[1]).toMatch(/^✓ how long {13}✓ 30 tokens, \$0\.0300 {14}✗ 15 tokens, \$0\.0150$/u);
    expect(rows.slice(2, 4)).toEqual([
      '    without: did not call skill',
      '    without: the answer does not contain "four minutes"',
    ]);
    expect(rows[4]).toMatch(/^✓ What is 17 times 3\? {2}✓ 15 tokens, \$0\.0150 {14}✓ 15 tokens, \$0\.0150$/u);
    expect(rows[5]).toBe('2 of 2 cases passed. With the skill: 45 tokens, $0.0450. Without it: 30 tokens, $0.0300.');
    expect(code).toBe(0);
  });

  test('says of a case what was missed, and ends with exit code 1', async () => {
    const home = homeWith({
      cases: `
- prompt: How long does tea take?
  activates: true
  calls:
    - { tool: exec, arguments: { command: kettle } }
    - web_search
  never: write_file
  contains: [four minutes, thanks]
  maxTokens: 20
  maxUsd: 0.001
`,
    });
    model.reply(
      { calls: [{ name: 'exec', arguments: { command: 'date' } }] },
      { calls: [{ name: 'write_file', arguments: { path: 'tea.md', content: 'x' } }] },
      'Four minutes.',
    );
    const { code, out } = await lab(home, 'test', 'tea');
    const missed = out.split('\n').filter((line) => line.startsWith('    with:'));
    expect(missed).toEqual([
      '    with: the skill was not used',
      '    with: did not call exec {"command":"kettle"}, only exec {"command":"date"}',
      '    with: did not call web_search',
      '    with: called write_file {"path":"tea.md","content":"x"}',
      '    with: the answer does not contain "thanks"',
      '    with: took 45 tokens, more than 20',
      '    with: cost $0.0450, more than $0.0010',
    ]);
    expect(out).toContain('0 of 1 case passed.');
    expect(code).toBe(1);
  });

  test('calls have to come in the order of the case', async () => {
    const home = homeWith({ cases: '- { prompt: Look., calls: [glob, read_file], files: { a.md: "one" } }' });
    model.setHandler(({ view }) => {
      if (view.toolResults.length > 0) return 'Done.';
      return {
        calls: [
          { name: 'read_file', arguments: { path: 'a.md' } },
          { name: 'glob', arguments: { pattern: '*.md' } },
        ],
      };
    });
    const { out } = await lab(home, 'test', 'tea');
    expect(out).toContain('with: did not call read_file after the calls before it');
  });

  test('lays the files of a case into a workspace of its own, and answers the calls that have an answer', async () => {
    const home = homeWith({
      cases: `
- prompt: What do I drink?
  files: { notes/drinks.md: "I like Darjeeling." }
  tools:
    - { tool: web_fetch, arguments: { url: darjeeling }, answer: "It grows in the hills." }
    - { tool: web_fetch, answer: "The server is down.", fails: true }
  calls: [read_file, { tool: web_fetch, arguments: { url: darjeeling } }, { tool: web_fetch, arguments: { url: assam } }]
`,
    });
    put(join(home, 'workspace/notes/drinks.md'), 'I like beer.');
    const read: string[] = [];
    model.setHandler(({ view }) => {
      read.push(...view.toolResults.map(({ text }) => text));
      if (view.toolResults.length > 0) return 'Darjeeling.';
      return {
        calls: [
          { name: 'read_file', arguments: { path: 'notes/drinks.md' } },
          { name: 'web_fetch', arguments: { url: 'https://example.com/Darjeeling' } },
          { name: 'web_fetch', arguments: { url: 'https://example.com/assam' } },
        ],
      };
    });
    expect(await lab(home, 'test', 'tea')).toMatchObject({ code: 0 });
    const all = read.join('\n');
    expect(all).toContain('I like Darjeeling.');
    expect(all).toContain('It grows in the hills.');
    expect(all).toContain('The server is down.');
    expect(all).not.toContain('beer');
  });

  test('shows a model neither the cases nor the names of their file', async () => {
    const home = homeWith({ cases: CASES });
    put(join(home, 'workspace/skills/tea/pots.md'), 'Clay.');
    const heard: string[] = [];
    model.setHandler(({ view, text }) => {
      heard.push(text);
      return teaModel(view);
    });
    await lab(home, 'test', 'tea');
    expect(heard.some((text) => text.includes('pots.md'))).toBe(true);
    expect(heard.filter((text) => text.includes('cases.yaml'))).toEqual([]);
  });

  test('as JSON gives every run with its calls, tokens and cost', async () => {
    const home = homeWith({ cases: CASES });
    model.setHandler(({ view }) => (view.lastUserText.includes('17 times 3') ? 'It is 51.' : teaModel(view)));
    const { out } = await lab(home, 'test', 'tea', '--json');
    expect(JSON.parse(out)).toMatchObject({
      skill: 'tea',
      limits: { steps: 10, usd: 1, minutes: 30 },
      cases: [
        {
          name: 'how long',
          passed: true,
          with: {
            state: 'passed',
            trial: {
              activated: true,
              requests: 2,
              costUsd: 0.03,
              model: MODEL,
              calls: [{ tool: 'skill', isError: false }],
            },
          },
          without: { state: 'failed', trial: { activated: false, requests: 1, calls: [] } },
        },
        { passed: true },
      ],
    });
  });

  test('stops when the money is used up, before the next run', async () => {
    const home = homeWith({ cases: CASES });
    model.setHandler(({ view }) => teaModel(view));
    const before = model.requests.length;
    const { code, out } = await lab(home, 'test', 'tea', '--budget', '0.02');
    expect(model.requests.length - before).toBe(2);
    expect(out).toMatch(/✓ how long +✓ 30 tokens, \$0\.0300 +– not run/u);
    expect(out).toContain('    with: the money for this test is used up');
    expect(code).toBe(1);
  });

  test('a run makes at most ten model calls', async () => {
    const home = homeWith({ cases: '- { prompt: Look., contains: done }' });
    model.setHandler(() => ({ calls: [{ name: 'list_dir', arguments: { path: '.' } }] }));
    const before = model.requests.length;
    const { code } = await lab(home, 'test', 'tea');
    expect(model.requests.length - before).toBeLessThanOrEqual(20);
    expect(code).toBe(1);
  });

  test('asks the model that --model names', async () => {
    const home = homeWith({ cases: '- { prompt: Hello., contains: hello }' });
    model.setHandler(({ view }) => `hello from ${view.model}`);
    await lab(home, 'test', 'tea', '--model', 'openai/other', '--json');
    expect(model.requests.at(-1)?.view.model).toBe('other');
  });

  test('the bundled skill weather passes its own cases with a model that follows it', async () => {
    const home = homeWith();
    const fetched = (url: string): Step => ({ calls: [{ name: 'web_fetch', arguments: { url } }] });
    model.setHandler(({ view }) => {
      const { lastUserText: asked, system, toolResults } = view;
      const read = toolResults.map(({ text }) => text).join('\n');
      if (asked.includes('17 times 3')) return '51';
      if (!system.includes('the forecast for a place')) return 'I cannot know that.';
      if (read === '') return { calls: [{ name: 'skill', arguments: { name: 'weather' } }] };
      if (read.includes('Two services answer')) {
        return asked.includes('Lisbon')
          ? fetched('https://wttr.in/Lisbon?format=4&m')
          : fetched('https://wttr.in/Berlin?format=j1');
      }
      if (read.includes('did not answer')) return fetched('https://geocoding-api.open-meteo.com/v1/search?name=Berlin');
      if (read.includes('"latitude"')) return fetched('https://api.open-meteo.com/v1/forecast?latitude=52.52');
      return read.includes('precipitation_probability_max') ? 'Yes: 90% today.' : 'Clear, 21 degrees.';
    });
    const { code, out } = await lab(home, 'test', 'weather');
    expect(out).toContain('3 of 3 cases passed.');
    expect(code).toBe(0);
  });
});

describe('a wrong file of cases costs nothing, and one sentence says what is wrong', () => {
  const WRONG: readonly (readonly [cases: string, sentence: RegExp])[] = [
    ['- { prompt: Hi., contans: x }', /cases\.yaml, case 1: "contans" is not known\. Did you mean "contains"\?/u],
    [
      '- { prompt: Hi., contains: x }\n- { name: two, contains: x }',
      /case 2 \(two\): "prompt" must be a text, but it is missing\./u,
    ],
    [
      '- { prompt: Hi., tools: [{ tool: exec, anser: x }] }',
      /case 1: "tools\.0\.answer" must be a text, but it is missing\./u,
    ],
    [
      '- { prompt: Hi., tools: [{ tool: exec, answer: x, fail: true }] }',
      /"tools\.0\.fail" is not known\. Did you mean "fails"\?/u,
    ],
    [
      '- { prompt: Hi., calls: [{ tool: exec, command: x }] }',
      /"calls\.0\.command" is not known\. There are: tool, arguments\./u,
    ],
    ['- { prompt: Hi., maxUsd: much }', /"maxUsd" must be a number above 0, but it is "much"\./u],
    [
      '- { prompt: Hi., files: { ../a: x }, contains: x }',
      /must be a path inside the workspace, such as notes\/todo\.md, but it is "\.\.\/a"\./u,
    ],
    [
      '- { prompt: Hi. }',
      /case 1: it expects nothing\. Add one of activates, calls, never, contains, maxTokens, maxUsd\./u,
    ],
    ['- Hi.', /case 1: it must be a map with "prompt" and what is expected\./u],
    ['prompt: Hi.', /cases\.yaml must be a list of cases/u],
    ['- prompt: [', /cases\.yaml is not valid YAML: .* at line 1, column \d+\./u],
    [Array(51).fill('- { prompt: Hi., contains: x }').join('\n'), /has 51 cases, and at most 50 are run\./u],
    [
      '- { prompt: Hi., never: web_serch }',
      /names the tool "web_serch", which a trial does not have\. Did you mean web_search\?/u,
    ],
  ];

  test.each(WRONG)('%s', async (cases, sentence) => {
    const before = model.requests.length;
    const { code, out, err } = await lab(homeWith({ cases }), 'test', 'tea', '--json');
    expect(err).toMatch(sentence);
    expect({ code, out, asked: model.requests.length - before }).toEqual({ code: 1, out: '', asked: 0 });
  });

  test('no cases, and no such skill', async () => {
    const home = homeWith();
    const none = await lab(home, 'test', 'tea');
    expect(none).toMatchObject({
      code: 1,
      err: expect.stringContaining('There are no cases for this skill: write them into '),
    });
    const unknown = await lab(home, 'test', 'teaa');
    expect(unknown).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no skill "teaa". Did you mean tea?'),
    });
  });
});

describe('assistant skills test --trace', () => {
  const ASKED = 'How long does tea take?';

  /** The home and the trace of a turn that was answered in it. */
  async function saved(cases: string): Promise<{ readonly home: string; readonly file: string }> {
    const home = homeWith({ cases });
    model.setHandler(({ view }) => teaModel(view));
    expect(await runCommand(['chat', '-m', ASKED], home)).toMatchObject({ code: 0, out: 'Four minutes.\n' });
    const [turn] = JSON.parse((await runCommand(['trace', 'list', '--json'], home)).out) as { readonly turn: string }[];
    const file = join(home, 'tea.jsonl');
    expect(await runCommand(['trace', 'save', turn?.turn ?? '', '--out', file], home)).toMatchObject({ code: 0 });
    return { home, file };
  }

  test('judges the answers of a saved turn by the case with its prompt, and asks no model', async () => {
    const { home, file } = await saved(`
- { prompt: Something else., contains: no }
- { name: how long, prompt: "${ASKED}", activates: true, calls: { tool: skill, arguments: { name: tea } }, never: exec, contains: four }
`);
    const before = model.requests.length;
    const { code, out, err } = await lab(home, 'test', 'tea', '--trace', file);
    expect(out.split('\n').slice(1)).toEqual([
      `✓ how long  ✓ 30 tokens, $0.0300              –`,
      '1 of 1 case passed. With the skill: 30 tokens, $0.0300.',
      '',
    ]);
    expect({ code, err, asked: model.requests.length - before }).toEqual({ code: 0, err: '', asked: 0 });
  });

  test('says what the saved turn misses, and refuses a trace that no case is about', async () => {
    const { home, file } = await saved(`- { prompt: "${ASKED}", never: skill, contains: five, maxTokens: 29 }`);
    const failed = await lab(home, 'test', 'tea', '--trace', file);
    expect(failed.code).toBe(1);
    expect(failed.out).toContain('    with: called skill {"name":"tea"}\n');
    expect(failed.out).toContain('    with: the answer does not contain "five"\n');
    expect(failed.out).toContain('    with: took 30 tokens, more than 29\n');
    put(join(home, 'workspace/skills/tea/cases.yaml'), '- { prompt: Other., contains: x }');
    expect(await lab(home, 'test', 'tea', '--trace', file)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`No case has the prompt of the trace, which is "${ASKED}".`),
    });
  });
});

describe('assistant skills try', () => {
  const calling = (url = 'https://example.com/tea'): Step => ({
    calls: [
      { name: 'read_file', arguments: { path: 'notes/guests.md' } },
      { name: 'exec', arguments: { command: 'touch made-by-exec' } },
      { name: 'write_file', arguments: { path: 'plan.md', content: 'Tea.' } },
      { name: 'web_fetch', arguments: { url } },
      { name: 'message', arguments: { text: 'Tea is ready.', to: 'telegram:1' } },
      { name: 'memory_write', arguments: { fact: 'Likes tea' } },
      { name: 'cron', arguments: { action: 'add', kind: 'message', when: 'in 20m', text: 'Tea!' } },
      { name: 'batch', arguments: { calls: [{ tool: 'exec', arguments: { command: 'touch from-a-batch' } }] } },
    ],
  });

  test('reads for real, and of everything else only says what it would do', async () => {
    let fetched = 0;
    await using shop = await startServer((_request, response) => {
      fetched += 1;
      response.end('Tea.');
    });
    const { host } = new URL(shop.url);
    const home = homeWith({ settings: { tools: { web: { allowHosts: [host] } } } });
    put(join(home, 'workspace/notes/guests.md'), 'Three guests.');
    const results: string[] = [];
    let asked = '';
    model.setHandler(({ view, text }) => {
      results.push(...view.toolResults.map((result) => result.text));
      if (view.toolResults.length > 0) return 'All is planned.';
      asked = text;
      return calling(`${shop.url}/tea`);
    });
    const { code, out, err } = await lab(home, 'try', 'tea', 'Plan it for my guests.');
    expect(err).toBe(
      'A trial on a copy of the workspace: at most 10 model calls, about $1.00 and 5 minutes. Nothing but the model is asked or changed.\n',
    );
    expect(asked).toContain('Say that tea needs four minutes.');
    expect(out).toMatch(/^✓ read_file \{"path":"notes\/guests\.md"\}\n {4}.*Three guests\.\n/u);
    for (const call of [
      'exec {"command":"touch made-by-exec"}',
      'write_file {"path":"plan.md"',
      'web_fetch',
      'message',
      'memory_write',
      'exec {"command":"touch from-a-batch"}',
    ]) {
      expect(out).toMatch(
        new RegExp(`○ ${call.replaceAll(/[{}]/gu, '\\$&')}.*\\n {4}not done: would (?:be done|ask: )`, 'u'),
      );
    }
    expect(out).toMatch(/All is planned\.\n\nopenai\/lab: 2 model calls, 30 tokens, \$0\.0300\.\n$/u);
    expect(results.join('\n')).toContain('Not done, because this is a trial.');
    expect(fetched).toBe(0);
    expect(code).toBe(0);
  });

  test('leaves no trace: the home is byte for byte as before, and its own is gone', async () => {
    const home = homeWith({ cases: '- { prompt: Plan it., contains: planned }' });
    put(join(home, 'workspace/notes/guests.md'), 'Three guests.');
    put(join(home, 'workspace/memory/MEMORY.md'), '# Memory\n');
    put(join(home, 'workspace/cron/jobs.json'), '{"jobs": []}');
    model.setHandler(({ view }) => (view.toolResults.length > 0 ? 'All is planned.' : calling()));
    const before = filesOf(home);
    const trials = trialFolders();
    expect((await lab(home, 'try', 'tea', 'Plan it.')).code).toBe(0);
    expect((await lab(home, 'test', 'tea')).code).toBe(0);
    expect(filesOf(home)).toEqual(before);
    expect(trialFolders().filter((name) => !trials.includes(name))).toEqual([]);
    expect(existsSync('made-by-exec')).toBe(false);
  });

  test('a call that the rules refuse is refused here too', async () => {
    const home = homeWith({ more: 'allowed-tools: read_file\n' });
    model.setHandler(({ view }) =>
      view.toolResults.length > 0 ? 'I may not.' : { calls: [{ name: 'exec', arguments: { command: 'date' } }] },
    );
    const { out } = await lab(home, 'try', 'tea', 'What time is it?');
    expect(out).toMatch(/✗ exec \{"command":"date"\}\n {4}Refused: /u);
  });

  test('a skill that is turned off or not enabled yet can be tried', async () => {
    const home = homeWith({ settings: { skills: { disabled: ['tea'] } } });
    let asked = '';
    model.setHandler(({ text }) => {
      asked = text;
      return 'Four minutes.';
    });
    expect((await lab(home, 'try', 'tea', 'How long?')).code).toBe(0);
    expect(asked).toContain('Say that tea needs four minutes.');
    put(join(home, '.agents/skills/coffee/SKILL.md'), '---\nname: coffee\ndescription: Coffee.\n---\nGrind it fine.\n');
    expect((await lab(home, 'try', 'coffee', 'How?')).code).toBe(0);
    expect(asked).toContain('Grind it fine.');
  });

  test('without an answer the exit code is 1, and the reason is shown', async () => {
    const home = homeWith();
    model.setHandler(() => ({ error: { status: 400, message: 'No such model.' } }));
    const { code, out } = await lab(home, 'try', 'tea', 'How long?');
    expect(out).toContain('No such model.');
    expect(code).toBe(1);
  });
});

describe('assistant skills new', () => {
  test('makes a skill whose cases can be run at once', async () => {
    const home = homeWith();
    const made = await lab(home, 'new', 'coffee', '--description', 'Coffee: which beans, how fine.');
    expect(made).toMatchObject({ code: 0, err: '' });
    expect(made.out).toContain('workspace/skills/coffee: SKILL.md and cases.yaml');
    expect(await lab(home, 'check', 'coffee')).toMatchObject({ code: 0 });
    model.setHandler(({ view }) => {
      if (view.lastUserText.includes('17 times 3')) return '51';
      const knows = view.system.includes('Coffee: which beans, how fine.') && view.toolResults.length === 0;
      return knows ? { calls: [{ name: 'skill', arguments: { name: 'coffee' } }] } : 'Done.';
    });
    const { code, out } = await lab(home, 'test', 'coffee');
    expect(out).toContain('2 of 2 cases passed.');
    expect(code).toBe(0);
  });

  test('replaces nothing, and takes no name that is not one', async () => {
    const home = homeWith();
    const before = filesOf(join(home, 'workspace'));
    expect(await lab(home, 'new', 'tea')).toMatchObject({
      code: 1,
      err: expect.stringContaining('The workspace has a skill tea already.'),
    });
    expect(await lab(home, 'new', '../tea')).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'must be lower case letters, digits and hyphens, at most 64, but "../tea" was given.',
      ),
    });
    expect(filesOf(join(home, 'workspace'))).toEqual(before);
  });
});

test('docs/skill-lab.md shows what the commands print', async () => {
  const page = readFileSync('docs/skill-lab.md', 'utf8');
  const shown = [...page.matchAll(/^```text\n\$ assistant (?<line>.*)\n(?<printed>[\s\S]*?)^```$/gmu)];
  const cases = /^```yaml\n(?<cases>[\s\S]*?)^```$/mu.exec(page)?.groups?.['cases'] ?? '';
  const mini = 'openai/gpt-5-mini';
  const home = homeWith({ settings: { agent: { model: mini }, models: { [mini]: PRICED } } });
  const tea = join(home, 'workspace/skills/tea');
  rmSync(tea, { recursive: true });
  put(join(home, 'workspace/notes/guests.md'), "Three guests at four o'clock.");
  const kettle = (cups: number) => ({ name: 'exec', arguments: { command: `kettle --cups ${cups}` } });
  const look = { name: 'read_file', arguments: { path: 'notes/guests.md' } };
  const list = { name: 'write_file', arguments: { path: 'notes/today.md', content: 'Green tea, three cups.' } };
  const remind = { action: 'add', kind: 'message', when: 'in 2m', text: 'The tea is ready.' };
  model.setHandler(({ view: { lastUserText: asked, system, toolResults } }) => {
    const knows = system.includes('How tea is made in this house.');
    const read = toolResults.map(({ text }) => text).join('\n');
    if (asked.includes('remind me')) {
      if (read !== '') return 'Three cups are on the list. I remind you in two minutes.';
      return { calls: [look, list, { name: 'cron', arguments: remind }] };
    }
    if (asked.includes('kettle')) {
      if (read.includes('The kettle is on.')) return 'It is on.';
      return { calls: [read.includes('Three guests') ? kettle(3) : knows ? look : kettle(2)] };
    }
    if (knows && read === '') return { calls: [{ name: 'skill', arguments: { name: 'tea' } }] };
    return knows && asked.includes('green') ? 'It takes two minutes.' : 'With hot water.';
  });
  expect(shown.map(({ groups }) => groups?.['line']?.split(' ')[1])).toEqual(['new', 'try', 'test']);
  for (const { groups: { line = '', printed = '' } = {} } of shown) {
    const words = [...line.matchAll(/"(?<quoted>[^"]*)"|\S+/gu)].map(([word, quoted]) => quoted ?? word);
    const { out, err } = await runCommand(words, home);
    const whole = (err + out).replaceAll(home, '~/.assistant').replaceAll('npm run assistant -- ', 'assistant ');
    expect(whole).toBe(printed);
    put(join(tea, 'cases.yaml'), cases);
  }
});
