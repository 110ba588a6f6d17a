import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HookSet } from '../../../src/core/agent/hooks/hooks.ts';
import { FIXTURE_SERVER } from '../../mcp/built-fixture.ts';
import { Asking } from '../../support/asking-why.ts';
import type { Answer } from '../../support/model-script.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../../support/world.ts';

const call = (name: string, args: Readonly<Record<string, unknown>>): Answer => ({
  calls: [{ name, arguments: args }],
});
const NOT_ON_FRIDAYS: HookSet = {
  owner: 'calendar',
  guard: true,
  hooks: {
    admit: ({ text }) => (text.includes('hush') ? { type: 'deny', reason: 'Not a word on Fridays.' } : undefined),
    beforeTool: (_, { arguments: given }) =>
      given.includes('friday') ? { type: 'deny', reason: 'Nothing is written on Fridays.' } : undefined,
  },
};

let world: World;
let asking: Asking;
const clock = new SkippingClock();
beforeAll(async () => {
  const mcpServers = { fix: { command: process.execPath, args: [FIXTURE_SERVER] } };
  const config = { mcpServers, tools: { exec: { mode: 'ask', sandbox: 'off' } } };
  world = await startWorld({ clock, hooks: [NOT_ON_FRIDAYS], config });
  asking = new Asking(world, clock);
});
afterAll(() => world[Symbol.asyncDispose]());

/** The cause of a turn that makes this call. */
async function causeOf(text: string, made: Answer): Promise<string> {
  return await asking.why(await asking.say(text, OWNER, made, 'Done.'));
}
/** The question about a command; the turn waits for its answer. */
async function question(text: string, made: Answer): Promise<{ readonly asked: number; readonly code: string }> {
  world.model.reply(made, 'Then not.');
  const before = chatOf(world).length;
  const asked = asking.send(text);
  const code = await waitFor(() => /\/deny (\w+)/u.exec(chatOf(world).slice(before).join(' '))?.[1], {
    what: 'the question',
  });
  return { asked, code };
}

describe('/why names', () => {
  test('the rule that refused a command in every mode', async () => {
    expect(await causeOf('clean', call('exec', { command: 'rm -rf /' }))).toBe(
      'About “clean”: Not done: rm -rf / was refused. This command is refused in every mode: it would delete the root of the system or a system directory.',
    );
  });

  test('the setting that keeps a tool from writing to a path, and from reading one', async () => {
    expect(await causeOf('write', call('write_file', { path: '/etc/x.md', content: 'x' }))).toBe(
      `About “write”: Not done: writing /etc/x.md was refused. /etc/x.md is outside the workspace ${world.workspace}, which tools.restrictToWorkspace does not allow.`,
    );
    expect(await causeOf('read', call('read_file', { path: '/etc/hosts' }))).toBe(
      `About “read”: I was not allowed to use read_file. /etc/hosts is outside the workspace ${world.workspace}, which tools.readRoots does not allow.`,
    );
  });

  test('the plugin that did not allow a call, and the one that did not let a message through', async () => {
    expect(await causeOf('plan', call('write_file', { path: 'friday.md', content: 'x' }))).toBe(
      'About “plan”: Not done: writing friday.md was refused. The plugin calendar did not allow it: Nothing is written on Fridays.',
    );
    expect(await asking.why(await asking.say('hush now'))).toBe(
      'About “hush now”: The plugin calendar did not let it through: Not a word on Fridays.',
    );
  });

  test('the MCP server that was lost while it worked, and the one that failed', async () => {
    await waitFor(
      async () => (await world.assistant.call('toolsList', {})).some(({ name }) => name === 'mcp_fix_die'),
      {
        what: 'the tools of the server',
      },
    );
    expect(await causeOf('die', call('mcp_fix_die', {}))).toBe(
      'About “die”: Cut off, so it may or may not be done: mcp_fix_die. The MCP server fix was lost while this ran (it ended with signal SIGKILL). It may have taken effect. The next call starts it again.',
    );
    // What a server answers is text of others, after which its tools need approval.
    await asking.say('/new');
    expect(await causeOf('fail', call('mcp_fix_fail', {}))).toBe(
      'About “fail”: Not done: mcp_fix_fail failed. The disk of the server is full.',
    );
  });

  test('the question that nobody answered in time, also of the question itself', async () => {
    await asking.say('/new');
    const { asked } = await question('make it', call('exec', { command: 'touch made' }));
    const shown = world.telegram.sentMessages.findLast(({ visibleText }) => visibleText.includes('/deny '));
    expect(await asking.why(shown?.messageId)).toBe(
      'About “make it”: It waits for an answer to the question about “touch made”.',
    );
    clock.skip(601_000);
    await asking.over(asked);
    expect(await asking.why(asked)).toBe(
      'About “make it”: “touch made” was not done: nobody answered the question in time.',
    );
    expect(await asking.why(shown?.messageId)).toBe(
      'About “make it”: “touch made” was not done: nobody answered the question in time.',
    );
  });

  test('the question that was answered late, and a question of the model that was not', async () => {
    const { asked, code } = await question('make more', call('exec', { command: 'touch more' }));
    clock.skip(8 * 60_000);
    asking.send(`/approve ${code}`);
    await asking.over(asked);
    expect(await asking.why(asked)).toBe(
      'About “make more”: It waited 8 min for an answer to the question about “touch more”.',
    );
    world.model.reply(call('ask_user', { question: 'Tea or coffee?', choices: [] }), 'Tea, then.');
    const drink = asking.send('order a drink');
    await waitFor(() => chatOf(world).some((text) => text.startsWith('Tea or coffee?')), { what: 'the question' });
    clock.skip(3_601_000);
    await asking.over(drink);
    expect(await asking.why(drink)).toBe(
      'About “order a drink”: Nobody answered my question “Tea or coffee?” in time.',
    );
  });

  test('the failure of a subagent: that it waited for, that came later, and of its result', async () => {
    const spawn = (more: object): Answer => call('spawn', { task: 'count', label: 'counting', ...more });
    const play = (made: Answer): void =>
      world.model.setHandler(({ view }) => {
        if (!view.tools.includes('spawn')) return { error: { status: 401 } };
        if (view.lastUserText.includes('subagent')) return 'It failed.';
        return view.toolResults.length > 0 ? 'Somebody counts.' : made;
      });
    play(spawn({ wait: true }));
    const waited = await asking.say('count');
    expect(await asking.why(waited)).toBe(
      'About “count”: Not done: the subagent’s task counting failed. Openai refused the API key. Correct providers.openai.apiKey, then send /retry.',
    );
    play(spawn({}));
    const later = await asking.say('count again');
    const told = await waitFor(
      () => world.telegram.sentMessages.find(({ visibleText }) => visibleText === 'It failed.'),
      {
        what: 'the end of the subagent',
      },
    );
    expect(await asking.why(later)).toBe(
      'About “count again”: The subagent “counting” that it started failed: openai refused the API key. Correct providers.openai.apiKey, then send /retry.',
    );
    expect(await asking.why(told.messageId)).toBe(
      'About what the subagent “counting” brought: The subagent “counting” failed: openai refused the API key. Correct providers.openai.apiKey, then send /retry.',
    );
  });
});
