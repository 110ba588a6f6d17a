import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Step } from '../../support/model-script.ts';
import { lab, MODEL, put, skillLab, teaModel } from './world.ts';

const world = skillLab();

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
    const home = world.homeWith({ cases: CASES });
    world.model.setHandler(({ view }) => (view.lastUserText.includes('17 times 3') ? 'It is 51.' : teaModel(view)));
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
    const home = world.homeWith({
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
    world.model.reply(
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
    const home = world.homeWith({ cases: '- { prompt: Look., calls: [glob, read_file], files: { a.md: "one" } }' });
    world.model.setHandler(({ view }) => {
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
    const home = world.homeWith({
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
    world.model.setHandler(({ view }) => {
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
    const home = world.homeWith({ cases: CASES });
    put(join(home, 'workspace/skills/tea/pots.md'), 'Clay.');
    const heard: string[] = [];
    world.model.setHandler(({ view, text }) => {
      heard.push(text);
      if (view.toolResults.length > 0) return 'Four minutes.';
      const look = { name: 'list_dir', arguments: { path: 'skills/tea' } };
      return { calls: [{ name: 'skill', arguments: { name: 'tea' } }, look] };
    });
    await lab(home, 'test', 'tea');
    expect(heard.some((text) => text.includes('pots.md'))).toBe(true);
    expect(heard.filter((text) => text.includes('cases.yaml'))).toEqual([]);
  });

  test('a prompt that calls the skill does so with it, and without it is the rest of the words', async () => {
    const home = world.homeWith({ cases: '- { prompt: "/tea How long?", activates: true, contains: minutes }' });
    const heard: string[] = [];
    world.model.setHandler(({ view, text }) => {
      heard.push(view.lastUserText);
      return text.includes('Say that tea needs four minutes.') ? 'Four minutes.' : 'No idea.';
    });
    const { code, out } = await lab(home, 'test', 'tea');
    expect(code).toBe(0);
    expect(out).toContain('    without: the answer does not contain "minutes"');
    expect(heard[1]).toContain('How long?');
    expect(heard[1]).not.toContain('tea');
  });

  test('a skill whose file is read as a file was used', async () => {
    const home = world.homeWith({ cases: '- { prompt: How long?, activates: true }' });
    world.model.setHandler(({ view }) =>
      view.toolResults.length > 0
        ? 'Four minutes.'
        : { calls: [{ name: 'read_file', arguments: { path: 'skills/tea/SKILL.md' } }] },
    );
    expect((await lab(home, 'test', 'tea')).code).toBe(0);
  });

  test('names what the skill needs and this machine lacks', async () => {
    const home = world.homeWith({
      cases: '- { prompt: How long?, contains: four }',
      more: 'requires: { bins: [no-kettle] }\n',
    });
    expect((await lab(home, 'test', 'tea')).err).toMatch(/^⚠ tea needs program no-kettle\n1 case, /u);
  });

  test('as JSON gives every run with its calls, tokens and cost', async () => {
    const home = world.homeWith({ cases: CASES });
    world.model.setHandler(({ view }) => (view.lastUserText.includes('17 times 3') ? 'It is 51.' : teaModel(view)));
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
    const home = world.homeWith({ cases: CASES });
    world.model.setHandler(({ view }) => teaModel(view));
    const before = world.model.requests.length;
    const { code, out } = await lab(home, 'test', 'tea', '--budget', '0.02');
    expect(world.model.requests.length - before).toBe(2);
    expect(out).toMatch(/✓ how long +✓ 30 tokens, \$0\.0300 +– not run/u);
    expect(out).toContain('    with: the money for this test is used up');
    expect(code).toBe(1);
  });

  test('a run makes at most ten model calls', async () => {
    const home = world.homeWith({ cases: '- { prompt: Look., contains: done }' });
    world.model.setHandler(() => ({ calls: [{ name: 'list_dir', arguments: { path: '.' } }] }));
    const before = world.model.requests.length;
    const { code } = await lab(home, 'test', 'tea');
    expect(world.model.requests.length - before).toBeLessThanOrEqual(20);
    expect(code).toBe(1);
  });

  test('asks the model that --model names', async () => {
    const home = world.homeWith({ cases: '- { prompt: Hello., contains: hello }' });
    world.model.setHandler(({ view }) => `hello from ${view.model}`);
    await lab(home, 'test', 'tea', '--model', 'openai/other', '--json');
    expect(world.model.requests.at(-1)?.view.model).toBe('other');
  });

  test('the bundled skill weather passes its own cases with a model that follows it', async () => {
    const home = world.homeWith();
    const heard: string[] = [];
    const fetched = (url: string): Step => ({ calls: [{ name: 'web_fetch', arguments: { url } }] });
    world.model.setHandler(({ view, text }) => {
      heard.push(text);
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
    expect(heard.filter((text) => text.includes('cases.yaml'))).toEqual([]);
    expect(code).toBe(0);
  });
});
