import { existsSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../config/temporary-home.ts';
import { FIXTURE_SERVER } from '../../mcp/built-fixture.ts';
import { runCommand } from '../../support/command-run.ts';
import { startServer } from '../../support/http.ts';
import type { Step } from '../../support/model-script.ts';
import { filesOf, lab, lineOf, put, skillLab } from './world.ts';

const world = skillLab();

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
    const home = world.homeWith({ settings: { tools: { web: { allowHosts: [host] } } } });
    put(join(home, 'workspace/notes/guests.md'), 'Three guests.');
    const results: string[] = [];
    let asked = '';
    world.model.setHandler(({ view, text }) => {
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
    const home = world.homeWith({ cases: '- { prompt: Plan it., contains: planned }' });
    put(join(home, 'workspace/notes/guests.md'), 'Three guests.');
    put(join(home, 'workspace/memory/MEMORY.md'), '# Memory\n');
    put(join(home, 'workspace/cron/jobs.json'), '{"jobs": []}');
    world.model.setHandler(({ view }) => (view.toolResults.length > 0 ? 'All is planned.' : calling()));
    const before = filesOf(home);
    const { line, trials } = lineOf(home);
    expect(await line.run('skills', 'try', 'tea', 'Plan it.')).toBe(0);
    expect(await line.run('skills', 'test', 'tea')).toBe(0);
    expect(filesOf(home)).toEqual(before);
    expect(trials()).toEqual([]);
    expect(existsSync('made-by-exec')).toBe(false);
  });

  test('Ctrl-C ends it, and its home is gone all the same', async () => {
    const home = world.homeWith({ cases: '- { prompt: Plan it., contains: planned }' });
    for (const words of [
      ['try', 'tea', 'Plan it.'],
      ['test', 'tea'],
    ]) {
      const asked = Promise.withResolvers<void>();
      world.model.setHandler(() => {
        asked.resolve();
        return { fault: 'hang' };
      });
      const { line, trials } = lineOf(home);
      const ended = line.run('skills', ...words);
      await asked.promise;
      expect(trials()).toHaveLength(1);
      line.signal('SIGINT');
      expect(await ended).toBe(130);
      expect(trials()).toEqual([]);
      expect(line.out).not.toContain('✓');
    }
    world.model.cutAll();
  });

  test('what a killed trial left is removed by one on a later day', async () => {
    const { line, trials, folder } = lineOf(world.homeWith());
    for (const name of ['assistant-trial-old', 'assistant-trial-new', 'something-else']) {
      put(join(folder, name, 'notes.md'), 'x');
    }
    const twoDaysAgo = Date.now() / 1_000 - 2 * 86_400;
    for (const name of ['assistant-trial-old', 'something-else'])
      utimesSync(join(folder, name), twoDaysAgo, twoDaysAgo);
    expect(await line.run('skills', 'try', 'tea', 'How long?')).toBe(0);
    expect(trials()).toEqual(['assistant-trial-new', 'something-else']);
  });

  test('a call that the rules refuse is refused here too', async () => {
    const home = world.homeWith({ more: 'allowed-tools: read_file\n' });
    world.model.setHandler(({ view }) =>
      view.toolResults.length > 0 ? 'I may not.' : { calls: [{ name: 'exec', arguments: { command: 'date' } }] },
    );
    const { out } = await lab(home, 'try', 'tea', 'What time is it?');
    expect(out).toMatch(/✗ exec \{"command":"date"\}\n {4}Refused: /u);
  });

  test('a skill that is turned off or not enabled yet can be tried', async () => {
    const home = world.homeWith({ settings: { skills: { disabled: ['tea'] } } });
    let asked = '';
    world.model.setHandler(({ text }) => {
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
    const home = world.homeWith();
    world.model.setHandler(() => ({ error: { status: 400, message: 'No such world.model.' } }));
    const { code, out } = await lab(home, 'try', 'tea', 'How long?');
    expect(out).toContain('No such world.model');
    expect(code).toBe(1);
  });
});

test('the agreed tools of an MCP server are offered and answered, and the server is not started', async () => {
  const starts = join(temporaryFolder(), 'starts');
  const command = `echo started >> ${starts}; exec ${process.execPath} ${FIXTURE_SERVER}`;
  const unknown = { command: '/bin/sh', args: ['-c', `echo unknown >> ${starts}; exec cat`] };
  const mcpServers = { notes: { command: '/bin/sh', args: ['-c', command] }, unknown };
  const home = world.homeWith({
    settings: { mcpServers },
    cases: `
- prompt: Say hello.
  tools: [{ tool: mcp_notes_echo, answer: Hello from the case. }]
  calls: mcp_notes_echo
  contains: From the case
`,
  });
  expect(await runCommand(['mcp', 'test', 'notes'], home)).toMatchObject({ code: 0 });
  expect(readFileSync(starts, 'utf8')).toBe('started\n');
  world.model.setHandler(({ view: { tools, toolResults } }) => {
    if (toolResults.some(({ text }) => text.includes('Hello from the case.'))) return 'It came from the case.';
    if (toolResults.length > 0) return 'Nothing came.';
    return tools.includes('mcp_notes_echo')
      ? { calls: [{ name: 'mcp_notes_echo', arguments: { text: 'hi' } }] }
      : 'There is no such tool.';
  });
  expect(await lab(home, 'test', 'tea')).toMatchObject({ code: 0 });
  expect((await lab(home, 'try', 'tea', 'Say hello.')).out).toContain(
    '○ mcp_notes_echo {"text":"hi"}\n    not done: would',
  );
  expect(readFileSync(starts, 'utf8')).toBe('started\n');
});
