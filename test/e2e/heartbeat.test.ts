import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { ModelApiRequest, Step } from '../support/model-script.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { settle } from '../support/virtual-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type DialectName, type World } from '../support/world.ts';

const MINUTE = 60_000;
const OPEN = '- [ ] check the backup\n';
const heartbeat = (action: 'skip' | 'run', tasks = 'check the backup'): Step => ({
  calls: [{ name: 'heartbeat', arguments: { action, tasks } }],
});
const verdict = (notify: boolean, reason = 'because'): Step => ({
  calls: [{ name: 'evaluate_notification', arguments: { should_notify: notify, reason } }],
});

interface Beating extends AsyncDisposable {
  readonly world: World;
  /** Half an hour passes. */
  rest(): Promise<void>;
  /** Time passes until a model has said what is due. */
  beat(): Promise<void>;
  /** Requests since the owner's first words. */
  asked(): readonly ModelApiRequest[];
  /** What the journal says of the newest look. */
  look(): Record<string, unknown> | undefined;
  outbound(): number;
}

/** An assistant whose owner said something once, with open tasks, in a world in which time can be skipped. */
async function beating(
  options: { dialect?: DialectName; config?: Readonly<Record<string, unknown>>; tasks?: string } = {},
): Promise<Beating> {
  const clock = new SkippingClock(Date.UTC(2027, 5, 1, 6));
  const world = await startWorld({
    ...(options.dialect === undefined ? {} : { dialect: options.dialect }),
    clock,
    config: { agent: { timezone: 'Europe/Vienna' }, ...options.config },
  });
  await mkdir(world.workspace, { recursive: true });
  await writeFile(join(world.workspace, 'HEARTBEAT.md'), options.tasks ?? OPEN);
  world.model.reply('Hi.');
  world.telegram.userSays(OWNER, 'hi');
  await waitFor(() => chatOf(world).length === 1);
  const query = (sql: string): Record<string, unknown> | undefined => {
    using db = new DatabaseSync(join(world.home, 'state.db'), { readOnly: true });
    return db.prepare(sql).get();
  };
  const look = (): Record<string, unknown> | undefined => query('SELECT * FROM heartbeat ORDER BY at DESC LIMIT 1');
  return {
    world,
    rest: async () => {
      await settle();
      clock.skip(31 * MINUTE);
      await settle();
    },
    beat: async () => {
      const before = look()?.['at'];
      clock.skip(30 * MINUTE);
      await waitFor(() => {
        const { at, reason } = look() ?? { at: before };
        if (at === before) clock.skip(MINUTE);
        return at !== before && !String(reason).startsWith('the process stopped');
      });
    },
    asked: () => world.model.requests.slice(1),
    look,
    outbound: () => Number(query('SELECT count(*) AS n FROM outbound')?.['n']),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

const toolsOf = ({ view }: ModelApiRequest): string => view.tools.join();
const turns = (list: readonly ModelApiRequest[]): readonly ModelApiRequest[] =>
  list.filter((request) => request.view.tools.length > 1);

describe.each(['openai', 'anthropic'] as const)('a heartbeat (%s)', (dialect) => {
  test('does what is due in a session of its own, and tells the owner what is worth telling', async () => {
    await using beating_ = await beating({ dialect });
    const { world } = beating_;
    world.model.reply(heartbeat('run'), 'The backup of last night is missing!', verdict(true, 'it is missing'));
    await beating_.beat();
    await waitFor(() => chatOf(world).length === 2);
    expect(chatOf(world)[1]).toBe('The backup of last night is missing!');
    const [look, turn, judge] = beating_.asked();
    expect([look, turn, judge].map((request) => (request === undefined ? '' : toolsOf(request)))).toEqual([
      'heartbeat',
      expect.stringContaining('read_file'),
      'evaluate_notification',
    ]);
    expect(judge?.view.lastUserText).toContain('The backup of last night is missing!');
    expect(beating_.look()).toMatchObject({ action: 'run', told: 1, verdict: 'it is missing' });
    const tape = await world.tape('heartbeat');
    expect(tape.find(({ kind }) => kind === 'turn-start')).toMatchObject({ origin: 'heartbeat', role: 'owner' });
  });
});

test('a turn of the heartbeat waits for its subagent, whatever the call says', async () => {
  await using b = await beating();
  const spawn = { name: 'spawn', arguments: { task: 'look for the backup', wait: false } };
  b.world.model.reply(heartbeat('run'), { calls: [spawn] }, 'There is none.', 'No backup!', verdict(true));
  await b.beat();
  await waitFor(() => chatOf(b.world).length === 2);
  expect(chatOf(b.world)[1]).toBe('No backup!');
  expect(b.asked()[3]?.view.toolResults[0]?.text).toMatch(/^\[subagent [^\n]* completed[^\n]*\nThere is none\.$/u);
});

test('nothing due costs one cheap question, in which no other file of the workspace is', async () => {
  const tasks = Array.from({ length: 400 }, (_, n) => `- [ ] task number ${n}: look whether 任务 is done`).join('\n');
  await using b = await beating({ tasks });
  await writeFile(join(b.world.workspace, 'SOUL.md'), 'You are a kumquat.');
  b.world.model.reply(heartbeat('skip', 'nothing before noon'));
  await b.beat();
  await waitFor(() => b.look()?.['action'] === 'skip');
  const body = JSON.stringify(b.asked()[0]?.body);
  expect(Buffer.byteLength(body) / 3.6).toBeLessThanOrEqual(1_500);
  expect(body).not.toContain('kumquat');
  expect(b.look()).toMatchObject({ reason: 'nothing before noon', inbound_id: null });
  expect(chatOf(b.world)).toHaveLength(1);
});

test('24 idle hours without an open task make no model call', async () => {
  await using b = await beating({ tasks: '# Open tasks\n\n<!-- - [ ] an example -->\n- [x] done\n' });
  for (let half = 0; half < 48; half += 1) await b.rest();
  expect(b.asked()).toEqual([]);
  expect(b.look()).toBeUndefined();
});

test('its prompt is light, and its history short', async () => {
  await using b = await beating();
  const { world } = b;
  await mkdir(join(world.workspace, 'memory'), { recursive: true });
  await writeFile(join(world.workspace, 'memory', 'MEMORY.md'), 'The owner likes pears.');
  await writeFile(join(world.workspace, 'AGENTS.md'), `Be brief. ${'a'.repeat(5_000)}`);
  for (let n = 0; n < 8; n += 1) {
    world.model.reply(heartbeat('run', `task ${n}`), `Result ${n}.`, verdict(false));
    await b.beat();
    await waitFor(() => b.look()?.['verdict'] !== null && b.asked().length === 3 * (n + 1));
    await waitFor(async () => (await world.tape('heartbeat')).filter(({ kind }) => kind === 'turn-end').length > n);
  }
  const last = turns(b.asked()).at(-1);
  expect(last?.view.system).toContain('Be brief.');
  expect(last?.view.system).toContain('AGENTS.md is cut here');
  expect(last?.view.system).not.toMatch(/pears|# Skills/u);
  expect(last?.view.messageCount).toBeLessThanOrEqual(10);
  expect(chatOf(world)).toHaveLength(1);
});

describe('whether the owner is told', () => {
  const SILENT: readonly (readonly [string, Step])[] = [
    ['a call that says no', verdict(false, 'routine')],
    ['a call without a reason', { calls: [{ name: 'evaluate_notification', arguments: { should_notify: false } }] }],
    ['a no written as a text', { calls: [{ name: 'evaluate_notification', arguments: { should_notify: 'false' } }] }],
    ['plain words: false', 'false'],
    ['plain words: No, routine', 'No, routine.'],
    ['plain words: should_notify: false', 'should_notify: false'],
    ['plain words: do not notify', 'Do not notify the owner.'],
    ['plain words: silent', 'Silent'],
  ];
  const TOLD: readonly (readonly [string, Step | readonly Step[]])[] = [
    ['a call that says yes', verdict(true)],
    ['a yes written as a text', { calls: [{ name: 'evaluate_notification', arguments: { should_notify: 'true' } }] }],
    ['plain words: true', 'true'],
    ['plain words: Yes', 'Yes, this matters.'],
    ['plain words that begin with a no of their own', 'No space is left on the disk, so tell the owner at once.'],
    ['plain words that say neither', 'The backup ran, I think.'],
    ['plain words that begin otherwise: nothing', 'Nothing here says so.'],
    ['an empty answer, twice', ['', '']],
    [
      'a call without an answer in it, twice',
      [
        { calls: [{ name: 'evaluate_notification', arguments: {} }] },
        { calls: [{ name: 'evaluate_notification', arguments: {} }] },
      ],
    ],
    [
      'broken JSON, twice',
      [
        { calls: [{ name: 'evaluate_notification', arguments: '{"should' }] },
        { calls: [{ name: 'evaluate_notification', arguments: '{' }] },
      ],
    ],
    [
      'another tool, twice',
      [{ calls: [{ name: 'exec', arguments: {} }] }, { calls: [{ name: 'exec', arguments: {} }] }],
    ],
    ['an error of the key', { error: { status: 401 } }],
    ['an error of the request', { error: { status: 400, message: 'no' } }],
    ['no credit left', { error: { status: 402, message: 'no credit' } }],
    ['a call that did not fit, then one that says yes', ['', verdict(true)]],
  ];

  test('is what the model says, however it says it; whatever else it does, they are', async () => {
    await using b = await beating();
    const { world } = b;
    for (const [what, step] of [...SILENT, ...TOLD]) {
      const silent = SILENT.some(([name]) => name === what);
      const [messages, rows] = [chatOf(world).length, b.outbound()];
      const steps: readonly Step[] = Array.isArray(step) ? (step as readonly Step[]) : [step as Step];
      world.model.reply(heartbeat('run', what), `Result of ${what}.`, ...steps);
      await b.beat();
      await waitFor(() => world.model.pending === 0 && b.look()?.['told'] !== null, { what });
      await waitFor(async () => (await world.tape('heartbeat')).filter(({ kind }) => kind === 'turn-end').length > 0);
      expect(b.look(), what).toMatchObject({ told: silent ? 0 : 1 });
      if (silent) {
        await settle();
        expect(b.outbound(), what).toBe(rows);
        expect(chatOf(world), what).toHaveLength(messages);
      } else {
        await waitFor(() => chatOf(world).length === messages + 1, { what });
        expect(chatOf(world).at(-1), what).toBe(`Result of ${what}.`);
      }
    }
    const judged = b.asked().filter((request) => toolsOf(request).includes('evaluate_notification'));
    expect(judged.length).toBeGreaterThanOrEqual(20);
  });

  test.each(['NO_REPLY', 'HEARTBEAT_OK', '*(silence)*'])('is not asked about %s', async (words) => {
    await using b = await beating();
    b.world.model.reply(heartbeat('run'), words);
    await b.beat();
    await waitFor(() => b.look()?.['told'] === 0);
    await settle();
    expect(b.outbound()).toBe(1);
    expect(b.asked().filter((request) => toolsOf(request).includes('evaluate_notification'))).toEqual([]);
    const { own } = await b.world.assistant.call('why', { count: 10 });
    expect(own).toMatchObject([{ outcome: 'silent', reason: 'it had nothing to report' }]);
  });

  test('is not decided by the turn itself: it cannot write to that chat', async () => {
    await using b = await beating();
    const { world } = b;
    world.model.reply(
      heartbeat('run'),
      { text: 'x'.repeat(400), calls: [{ name: 'message', arguments: { text: 'Look!' } }] },
      'All is well.',
      verdict(false),
    );
    await b.beat();
    await waitFor(() => b.look()?.['told'] === 0);
    await settle();
    expect(b.outbound()).toBe(1);
    expect(turns(b.asked())[1]?.view.toolResults[0]?.text).toContain(
      'your last text is sent to the owner without this tool',
    );
  });

  test('is kept, and shown by `why`', async () => {
    await using b = await beating();
    b.world.model.reply(heartbeat('run'), 'The backup ran.', verdict(false, 'as always'));
    await b.beat();
    await waitFor(() => b.look()?.['told'] === 0);
    const { own } = await b.world.assistant.call('why', { count: 10 });
    expect(own).toMatchObject([{ what: 'heartbeat: check the backup', outcome: 'silent', reason: 'as always' }]);
  });
});

test('a model that always wants to run stays under the caps', async () => {
  await using b = await beating({
    config: { agent: { timezone: 'UTC', budget: { selfDayTokens: 600, jobTokens: 100 } } },
  });
  const { world } = b;
  world.model.setHandler(({ view }) => {
    if (view.tools.join() === 'heartbeat') return heartbeat('run');
    if (view.tools.join() === 'evaluate_notification') return verdict(true);
    return { calls: [{ name: 'list_dir', arguments: {} }], usage: { input: 30, output: 5 } };
  });
  for (let n = 0; n < 5; n += 1) {
    await b.beat();
    await waitFor(() => b.look()?.['told'] !== null);
  }
  const asked = b.asked().length;
  for (let half = 0; half < 10; half += 1) await b.rest();
  expect(b.asked()).toHaveLength(asked);
  expect(b.look()).toMatchObject({ verdict: expect.stringContaining('the budget of this job is used up') });
  const ends = (await world.tape('heartbeat')).flatMap((entry) => (entry.kind === 'turn-end' ? [entry] : []));
  expect(ends.map(({ iterations }) => iterations)).toEqual([3, 3, 3, 3, 3]);
});

test('three refusals of the key pause it and tell the owner once', async () => {
  await using b = await beating();
  b.world.model.setHandler(() => ({ error: { status: 401, message: 'wrong key' } }));
  for (let n = 0; n < 3; n += 1) await b.beat();
  // Time that is skipped while it is sent would end its deadline.
  await waitFor(() => chatOf(b.world).length === 2);
  expect(chatOf(b.world)[1]).toContain('I paused the heartbeat');
  for (let n = 0; n < 5; n += 1) await b.rest();
  expect(chatOf(b.world)).toHaveLength(2);
  expect(b.asked()).toHaveLength(3);
});
