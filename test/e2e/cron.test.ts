import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { worldOfThree } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';
import { say } from '../support/say.ts';

// The machine of these tests runs on UTC.
process.env['TZ'] = 'UTC';

const cron = (given: Readonly<Record<string, unknown>>): object => ({ calls: [{ name: 'cron', arguments: given }] });
const said = (world: World, text: string, chat = OWNER): Promise<unknown> =>
  waitFor(() => chatOf(world, chat).some((line) => line.includes(text)), { what: `${text} in ${chat}` });
const results = (world: World): readonly string[] =>
  world.model.requests.flatMap(({ view }) => view.toolResults.map(({ text }) => text));
const VIENNA = { config: { agent: { timezone: 'Europe/Vienna' } } };
const jobs = async (world: World): Promise<readonly { id: string }[]> =>
  (JSON.parse(await readFile(join(world.workspace, 'cron', 'jobs.json'), 'utf8')) as { jobs: { id: string }[] }).jobs;

describe('reminders', () => {
  test('“remind me in 2 seconds to stretch” arrives once, in the right chat', async () => {
    await using world = await startWorld();
    world.model.reply(cron({ action: 'add', when: 'in 2 seconds', text: 'Stretch!' }), 'I remind you.');
    world.telegram.userSays(OWNER, 'remind me in 2 seconds to stretch');
    await said(world, 'Stretch!');
    await waitFor(async () => (await jobs(world)).length === 0, { what: 'the job is gone' });
    await world.restart();
    expect(chatOf(world)).toEqual(['I remind you.', 'Stretch!']);
    expect(world.model.requests).toHaveLength(2);
    expect(results(world)[0]).toMatch(/Set `stretch` for \w{3} \d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)? \(/u);
  });

  test('and tasks in a terminal say what they come from', async () => {
    await using world = await startWorld();
    world.model.setHandler(({ view }) => (view.lastUserText.includes('Scheduled task') ? 'Ten mails.' : 'Set.'));
    world.model.reply(
      cron({ action: 'add', when: 'in 1 second', text: 'Drink tea.' }),
      'Set.',
      cron({ action: 'add', when: 'in 1 second', text: 'Count the mails.', kind: 'agent' }),
      'Set.',
    );
    const told: (readonly [string | undefined, string])[] = [];
    using _attached = world.assistant.open('main', { onMessage: ({ from, text }) => told.push([from, text]) });
    await say(world.assistant, 'remind me of tea');
    await say(world.assistant, 'count my mails');
    await waitFor(
      () => told.some(([, text]) => text === 'Ten mails.') && told.some(([, text]) => text === 'Drink tea.'),
    );
    expect(told.toSorted(([a = ''], [b = '']) => a.localeCompare(b))).toEqual([
      [undefined, 'Set.'],
      [undefined, 'Set.'],
      ['the job count-the-mails', 'Ten mails.'],
      ['the reminder drink-tea', 'Drink tea.'],
    ]);
  });

  test('tomorrow at 9 is the person’s nine o’clock, and the answer of the tool names it', async () => {
    await using world = await startWorld(VIENNA);
    world.model.reply(cron({ action: 'add', when: 'tomorrow at 9', text: 'Dentist' }), 'Set.');
    world.telegram.userSays(OWNER, 'remind me tomorrow at 9 of the dentist');
    await said(world, 'Set.');
    expect(results(world)[0]).toMatch(/Set `dentist` for \w{3} \d{4}-\d\d-\d\d 09:00 \(Europe\/Vienna\)\./u);
  });

  test('on a machine that runs on UTC the person’s zone is asked for, and the one that is given is that job’s only', async () => {
    await using world = await startWorld();
    world.model.reply(
      cron({ action: 'add', when: 'tomorrow at 9', text: 'Dentist' }),
      'Where are you?',
      cron({ action: 'add', when: 'tomorrow at 9', text: 'Dentist', zone: 'Asia/Tokyo' }),
      'Set.',
      cron({ action: 'add', when: '0 7 * * *', text: 'Rise' }),
      'Where then?',
    );
    world.telegram.userSays(OWNER, 'remind me tomorrow at 9 of the dentist');
    await said(world, 'Where are you?');
    expect(results(world)[0]).toContain('time zone is not known');
    world.telegram.userSays(OWNER, 'Tokyo');
    await said(world, 'Set.');
    await world.restart();
    world.telegram.userSays(OWNER, 'and wake me at 7');
    await said(world, 'Where then?');
    expect(results(world).at(-1)).toContain('time zone is not known');
    expect(results(world)[1]).toMatch(/09:00 \(Asia\/Tokyo\)/u);
  });

  test('with a zone of its own is answered with the times of that zone', async () => {
    await using world = await startWorld(VIENNA);
    const zone = 'Asia/Tokyo';
    world.model.reply(
      cron({ action: 'add', when: 'tomorrow at 9', text: 'Sushi', zone }),
      cron({ action: 'add', when: '0 7 * * *', text: 'Rise', zone }),
      'Set.',
    );
    world.telegram.userSays(OWNER, 'in Tokyo: sushi tomorrow at 9, and wake me at 7');
    await said(world, 'Set.');
    expect(results(world)[0]).toMatch(/Set `sushi` for \w{3} \d{4}-\d\d-\d\d 09:00 \(Asia\/Tokyo\)\./u);
    expect(results(world).at(-1)).toMatch(/The next runs: .* 07:00 \(Asia\/Tokyo\), /u);
    expect(results(world).at(-1)).not.toContain('Vienna');
  });

  test('in no known form is refused with the forms there are, in one sentence', async () => {
    await using world = await startWorld(VIENNA);
    world.model.reply(cron({ action: 'add', when: 'every 2h from now on', text: 'Drink' }), 'No.');
    world.telegram.userSays(OWNER, 'every two hours from now on');
    await said(world, 'No.');
    expect(results(world)[0]).toContain('Expected a length of time alone, such as "every 2h"');
  });

  test('what cannot be is refused with the reason', async () => {
    await using world = await startWorld(VIENNA);
    world.model.reply(cron({ action: 'add', when: '0 0 31 2 *', text: 'x' }), 'No.');
    world.telegram.userSays(OWNER, 'on the 31st of February');
    await said(world, 'No.');
    expect(results(world)[0]).toContain('never occurs');
  });
});

describe('tasks', () => {
  test('run in a session of their own, say what they have to say, and cannot schedule anything', async () => {
    await using world = await startWorld(VIENNA);
    world.model.reply(
      cron({ action: 'add', when: 'in 1 second', text: 'look at the news', kind: 'agent' }),
      'I will.',
      cron({ action: 'add', when: 'every 10s', text: 'again' }),
      'No news.',
    );
    world.telegram.userSays(OWNER, 'look at the news in a second');
    await said(world, 'No news.');
    expect(results(world).at(-1)).toContain(
      'a turn that the program started by itself cannot change what is scheduled',
    );
    expect(world.model.requests[2]?.view.lastUserText).toContain('Scheduled task "look-at-the-news"');
    const tape = await world.tape('cron:look-at-the-news');
    expect(tape.find(({ kind }) => kind === 'turn-start')).toMatchObject({ role: 'owner', origin: 'cron' });
    expect(await jobs(world)).toEqual([]);
  });

  test('wait for a subagent, whatever the call says: there is no later turn for its result', async () => {
    await using world = await startWorld(VIENNA);
    const main = [
      cron({ action: 'add', when: 'in 1 second', text: 'count', kind: 'agent' }),
      'I will.',
      { calls: [{ name: 'spawn', arguments: { task: 'count the files', wait: false } }] },
      'Counted.',
    ];
    world.model.setHandler(({ view }) => (view.tools.includes('spawn') ? (main.shift() ?? 'No.') : 'Seven files.'));
    world.telegram.userSays(OWNER, 'count in a second');
    await said(world, 'Counted.');
    expect(results(world).at(-1)).toMatch(/^\[subagent "count the files" completed[^\n]*\nSeven files\.$/u);
    expect(JSON.stringify(world.model.requests[0]?.body['tools'])).toContain(
      'Default: false; always true in a turn that a job or the heartbeat started.',
    );
  });

  test('may be silent, which ends the turn without another model call and is written down', async () => {
    await using world = await startWorld(VIENNA);
    world.model.reply(
      cron({ action: 'add', when: 'in 1 second', text: 'look', kind: 'agent' }),
      'I will.',
      cron({ action: 'silent', text: 'nothing new' }),
    );
    world.telegram.userSays(OWNER, 'look');
    await waitFor(() => world.model.requests.length === 3);
    const ended = async (): Promise<boolean> => {
      const { runs } = await world.assistant.call('cron', { action: 'show', id: 'look' });
      return runs.some(({ execution }) => execution !== 'running');
    };
    await waitFor(ended);
    world.telegram.userSays(OWNER, '/cron show look');
    await said(world, 'silent (nothing new)');
    expect(world.model.requests).toHaveLength(3);
    expect(chatOf(world)).toHaveLength(2);
  });

  test.each(['NO_REPLY', 'HEARTBEAT_OK.', '*(silence)*', 'NO_REPLY\n\nNothing to report.'])(
    'that say no more than %s are silent',
    async (words) => {
      await using world = await startWorld(VIENNA);
      world.model.reply(cron({ action: 'add', when: 'in 1 second', text: 'look', kind: 'agent' }), 'I will.', words);
      world.telegram.userSays(OWNER, 'look');
      await waitFor(async () => {
        const { runs } = await world.assistant.call('cron', { action: 'show', id: 'look' });
        return runs.some(({ execution }) => execution !== 'running');
      });
      world.telegram.userSays(OWNER, '/cron show look');
      await said(world, 'silent (it had nothing to report)');
      expect(chatOf(world)).toHaveLength(2);
    },
  );

  test('that send a text themselves and then say nothing are not called silent', async () => {
    await using world = await startWorld(VIENNA);
    const message = { calls: [{ name: 'message', arguments: { text: 'Rain!' } }] };
    world.model.reply(
      cron({ action: 'add', when: 'in 1 second', text: 'look', kind: 'agent' }),
      'I will.',
      message,
      '',
    );
    world.telegram.userSays(OWNER, 'look');
    await said(world, 'Rain!');
    const { runs } = await waitFor(async () => {
      const shown = await world.assistant.call('cron', { action: 'show', id: 'look' });
      return shown.runs.some(({ execution }) => execution !== 'running') ? shown : undefined;
    });
    expect(JSON.stringify(runs)).not.toContain('nothing to report');
  });

  test.each(['服务器着火了！ HEARTBEAT_OK', 'Пожар в серверной! NO_REPLY', 'Silence of the lambs is on TV.'])(
    'that say more are told: %s',
    async (words) => {
      await using world = await startWorld(VIENNA);
      world.model.reply(cron({ action: 'add', when: 'in 1 second', text: 'look', kind: 'agent' }), 'I will.', words);
      world.telegram.userSays(OWNER, 'look');
      await said(world, words);
    },
  );

  test('that fail name themselves, and a reply to that runs them again', async () => {
    await using world = await startWorld(VIENNA);
    const refused = { error: { status: 402, message: 'No credit.' } } as const;
    world.model.reply(cron({ action: 'add', when: 'in 1 second', text: 'look', kind: 'agent' }), 'I will.', refused);
    world.telegram.userSays(OWNER, 'look');
    await said(world, 'The job look failed.');
    const told = world.telegram.sentMessages.at(-1);
    const text = told?.visibleText ?? '';
    expect(text).toMatch(/no credit left.*Top it up.*Reply to this with \/retry to run it again\.$/u);
    expect(text.match(/\/retry/gu)).toHaveLength(1);
    world.model.reply('No news.');
    const reply_to_message = {
      message_id: told?.messageId,
      date: 1,
      chat: { id: OWNER, type: 'private', first_name: 'A' },
      from: { id: 1, is_bot: true, first_name: 'Bot' },
      text,
    };
    world.telegram.userSays(OWNER, '/retry', { reply_to_message });
    await said(world, 'No news.');
    expect(world.model.requests.at(-1)?.view.lastUserText).toContain('Scheduled task "look"');
  });

  test('that repeat and fail: a run that was asked for tells it, and /retry says how to run it again', async () => {
    await using world = await startWorld(VIENNA);
    const { assistant } = world;
    const job = { id: 'news', kind: 'agent', when: 'every 5h', text: 'look', chat: `telegram:${OWNER}` } as const;
    world.model.reply('Hello.');
    world.telegram.userSays(OWNER, 'hello');
    await said(world, 'Hello.');
    await assistant.call('cron', { action: 'add', job });
    world.model.setHandler(() => ({ error: { status: 402, message: 'No credit.' } }));
    world.telegram.userSays(OWNER, '/cron run news');
    await said(world, 'The job news failed.');
    const told = world.telegram.sentMessages.at(-1);
    expect(told?.visibleText).toMatch(/Reply to this with \/retry to run it again\.$/u);
    const { runs } = await assistant.call('cron', { action: 'show', id: 'news' });
    expect(runs[0]).toMatchObject({ execution: 'failed' });
    world.telegram.userSays(OWNER, '/retry');
    await said(world, 'The last run of the job news failed: /cron run news runs it again.');
    world.model.setHandler(() => 'No news.');
    const chat = { id: OWNER, type: 'private', first_name: 'A' };
    const from = { id: 1, is_bot: true, first_name: 'Bot' };
    const reply_to_message = { message_id: told?.messageId, date: 1, chat, from, text: told?.visibleText };
    world.telegram.userSays(OWNER, '/retry', { reply_to_message });
    await said(world, 'No news.');
    expect(world.model.requests.at(-1)?.view.lastUserText).toContain('Scheduled task "news"');
  });

  test('nobody is silent with a person', async () => {
    await using world = await startWorld(VIENNA);
    world.model.reply(cron({ action: 'silent' }), 'Well.');
    world.telegram.userSays(OWNER, 'hi');
    await said(world, 'Well.');
    expect(results(world)[0]).toContain('answers a person');
  });

  test('hold to the budget of a job', async () => {
    await using world = await startWorld({
      config: { agent: { timezone: 'Europe/Vienna', budget: { jobTokens: 20 } } },
    });
    world.model.reply(
      cron({ action: 'add', when: 'in 1 second', text: 'work', kind: 'agent' }),
      'I will.',
      { calls: [{ name: 'list_dir', arguments: {} }] },
      { calls: [{ name: 'list_dir', arguments: {} }] },
    );
    world.telegram.userSays(OWNER, 'work');
    await said(world, 'the budget of this job is used up');
  });
});

describe('rights', () => {
  test('others schedule reminders and tasks for their own chat, and see and change nothing else', async () => {
    await using world = await worldOfThree(VIENNA);
    world.model.reply(cron({ action: 'add', when: 'every 1h', text: 'mine', kind: 'agent' }), 'Owner’s.');
    world.telegram.userSays(OWNER, 'go');
    await said(world, 'Owner’s.');
    world.model.reply(
      cron({ action: 'add', when: 'in 1 second', text: 'for me' }),
      cron({ action: 'add', when: 'in 1 second', text: ',list_dir', kind: 'command' }),
      cron({ action: 'add', when: 'in 1 second', text: 'x', chat: 'telegram:42' }),
      cron({ action: 'remove', job: 'mine' }),
      cron({ action: 'list' }),
      'Done.',
    );
    world.telegram.userSays(43, 'go');
    await said(world, 'for me', 43);
    await said(world, 'Done.', 43);
    const texts = results(world);
    expect(texts.filter((text) => text.includes('only the owner'))).toHaveLength(2);
    expect(texts.find((text) => text.includes('There is no job "mine"'))).toBeDefined();
    await waitFor(async () => (await jobs(world)).map(({ id }) => id).join() === 'mine');
  });

  test('a job that was written into the file waits until the owner presses the button', async () => {
    await using world = await startWorld(VIENNA);
    world.model.reply('Hi.');
    world.telegram.userSays(OWNER, 'hi');
    await said(world, 'Hi.');
    world.telegram.userSays(OWNER, '/cron');
    await said(world, 'Nothing is scheduled.');
    await writeFile(
      join(world.workspace, 'cron', 'jobs.json'),
      JSON.stringify({ version: 1, jobs: [{ id: 'ticker', every: '10s', text: 'Tick', chat: 'telegram:42' }] }),
    );
    await said(world, 'a job that you have not approved');
    const asked = world.telegram.sentMessages.at(-1);
    const markup = asked?.replyMarkup as { inline_keyboard: { callback_data: string }[][] };
    const data = markup.inline_keyboard[0]?.[0]?.callback_data ?? '';
    expect(data).toMatch(/^say:\/cron enable ticker [0-9a-f]{16}$/u);
    world.telegram.userPresses(OWNER, asked?.messageId ?? 0, data);
    await said(world, '`ticker` is on'.replaceAll('`', ''));
  });
});

test('the command line schedules for the chat in which the owner last wrote', async () => {
  await using world = await startWorld(VIENNA);
  world.model.reply('Hi.');
  world.telegram.userSays(OWNER, 'hi');
  await said(world, 'Hi.');
  const job = { when: 'in 1 second', text: 'From the terminal', kind: 'message' } as const;
  await world.assistant.call('cron', { action: 'add', job });
  await said(world, 'From the terminal');
  await expect(world.assistant.call('cron', { action: 'remove', id: 'none' })).rejects.toThrow(
    'There is no job "none". There are none.',
  );
});

test('the demo reminds without any key', async () => {
  await using world = await startWorld({ config: { agent: { model: 'demo/scripted' } } });
  world.telegram.userSays(OWNER, 'remind me in 1 second to drink tea');
  await said(world, 'drink tea');
  await waitFor(() => chatOf(world).includes('drink tea'), { what: 'the reminder itself' });
  expect(world.model.requests).toEqual([]);
});

test('where the schedule is switched off nothing of it is there', async () => {
  await using world = await startWorld({ config: { cron: { enabled: false } } });
  world.model.reply('Hi.');
  world.telegram.userSays(OWNER, 'hi');
  await said(world, 'Hi.');
  expect(world.model.requests[0]?.view.tools).not.toContain('cron');
  world.telegram.userSays(OWNER, '/cron');
  await said(world, 'The schedule is switched off');
});

test('in a group /retry names only the jobs of that group', async () => {
  const telegram = { owners: [String(OWNER)], groups: { allow: ['-100'], debounceMs: 0 } };
  await using world = await startWorld({ config: { ...VIENNA.config, channels: { telegram } } });
  world.model.reply('Hello.');
  world.telegram.userSays(OWNER, 'hello');
  await said(world, 'Hello.');
  world.model.setHandler(() => ({ error: { status: 402, message: 'No credit.' } }));
  for (const [id, chat] of [
    ['doctor', OWNER],
    ['party', -100],
  ] as const) {
    const job = { id, kind: 'agent', when: 'every 5h', text: id, chat: `telegram:${chat}` } as const;
    await world.assistant.call('cron', { action: 'add', job });
    world.telegram.userSays(OWNER, `/cron run ${id}`);
    await said(world, `The job ${id} failed.`, chat);
  }
  const from = { id: OWNER, is_bot: false, first_name: 'A' };
  const command = { entities: [{ type: 'bot_command', offset: 0, length: 15 }], from };
  world.telegram.userSays(-100, '/retry@test_bot', command);
  await said(world, '/cron run party', -100);
  expect(chatOf(world, -100).at(-1)).not.toContain('doctor');
  world.telegram.userSays(OWNER, '/retry');
  await said(world, '/cron run doctor');
});

test('where the schedule is switched off /retry offers no job that failed', async () => {
  await using world = await startWorld(VIENNA);
  world.model.reply('Hello.');
  world.telegram.userSays(OWNER, 'hello');
  await said(world, 'Hello.');
  const job = { id: 'news', kind: 'agent', when: 'every 5h', text: 'look', chat: `telegram:${OWNER}` } as const;
  await world.assistant.call('cron', { action: 'add', job });
  world.model.setHandler(() => ({ error: { status: 402, message: 'No credit.' } }));
  world.telegram.userSays(OWNER, '/cron run news');
  await said(world, 'The job news failed.');
  const path = join(world.home, 'config.json');
  const config = JSON.parse(await readFile(path, 'utf8')) as object;
  await writeFile(path, JSON.stringify({ ...config, cron: { enabled: false } }));
  await world.restart();
  world.telegram.userSays(OWNER, '/retry');
  await said(world, 'Your last message was answered');
  expect(chatOf(world).at(-1)).not.toContain('/cron');
});

describe('a job that is to run while text of others is in the conversation', () => {
  const TEXT = 'Water the plants.\nThen tell me which of them are dry.';
  const codeIn = (world: World, word: string): Promise<string> =>
    waitFor(() => new RegExp(`/${word} (\\w+)`, 'u').exec(chatOf(world).at(-1) ?? '')?.[1], { what: 'a question' });
  const made = async (world: World): Promise<void> => {
    world.model.reply(cron({ action: 'add', when: 'every 2h', text: TEXT, kind: 'agent' }), 'Set.', 'Read.');
    world.telegram.userSays(OWNER, 'set it');
    await said(world, 'Set.');
    world.telegram.userSays(OWNER, 'run every job', { forward_date: 1 });
    await said(world, 'Read.');
  };

  test.each([
    ['run', 'Run a scheduled job now?'],
    ['enable', 'Let a paused job run again?'],
  ])('is shown whole before %s', async (action, title) => {
    await using world = await startWorld();
    await made(world);
    const id = (await jobs(world))[0]?.id ?? '';
    world.model.reply(cron({ action, job: id }), 'Not done.');
    world.telegram.userSays(OWNER, 'go on');
    const code = await codeIn(world, 'deny');
    const question = chatOf(world).at(-1) ?? '';
    expect(question).toContain(title);
    expect(question).toContain(`${id}: agent, every 2h, to telegram:42\n${TEXT}`);
    world.telegram.userSays(OWNER, `/deny ${code}`);
    await said(world, 'Not done.');
  });

  test('does not run by a yes to what it was before', async () => {
    await using world = await startWorld();
    await made(world);
    const id = (await jobs(world))[0]?.id ?? '';
    world.model.reply(cron({ action: 'run', job: id }), 'I see.');
    world.telegram.userSays(OWNER, 'go on');
    const code = await codeIn(world, 'approve');
    const path = join(world.workspace, 'cron', 'jobs.json');
    await writeFile(path, (await readFile(path, 'utf8')).replace('Water the plants.', 'Sell the plants.'));
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await said(world, 'I see.');
    expect(results(world).at(-1)).toContain('changed after it was approved');
    expect(world.model.requests.some(({ view }) => JSON.stringify(view).includes('Scheduled task'))).toBe(false);
  });
});

describe('a change of the schedule', () => {
  test('that removes a running job ends its turn, and nothing of it is sent', async () => {
    await using world = await startWorld();
    world.model.reply(cron({ action: 'add', when: 'in 1 second', text: 'Count the mails.', kind: 'agent' }), 'Set.', {
      text: 'A long count.',
      delayMs: 60_000,
    });
    world.telegram.userSays(OWNER, 'count my mails');
    await waitFor(() => world.model.inFlight === 1 && world.model.requests.length === 3, { what: 'the job runs' });
    world.telegram.userSays(OWNER, '/cron remove count-the-mails');
    await said(world, 'It was running, so I stopped it.');
    await waitFor(() => world.model.inFlight === 0, { what: 'the request ends' });
    world.model.reply('Here.');
    world.telegram.userSays(OWNER, 'are you there?');
    await said(world, 'Here.');
    expect(chatOf(world)).toEqual(['Set.', 'count-the-mails is removed. It was running, so I stopped it.', 'Here.']);
  });

  test('that adds what is scheduled already adds nothing and shows the job', async () => {
    await using world = await startWorld(VIENNA);
    const nine = { action: 'add', when: '0 9 * * *', text: 'Drink water.' };
    world.model.reply(cron(nine), 'Set.', cron({ ...nine, text: 'drink  water.' }), 'It is set already.');
    world.telegram.userSays(OWNER, 'remind me every morning at 9 to drink water');
    await said(world, 'Set.');
    world.telegram.userSays(OWNER, 'remind me every morning at 9 to drink water');
    await said(world, 'It is set already.');
    expect(results(world)[1]).toMatch(/This is scheduled already, so I added nothing: `drink-water` message/u);
    expect(chatOf(world).at(-1)).toMatch(/Not done: the change to the job .+ failed\./u);
    expect(await jobs(world)).toHaveLength(1);
  });
});

test('a job of another program for a channel that is not set up is refused with a sentence', async () => {
  const job = { id: 'a1', name: 'Tea', enabled: true, schedule: { kind: 'every', everyMs: 3_600_000 } };
  const payload = { kind: 'agent_turn', message: 'Brew tea.', deliver: true, channel: 'whatsapp', to: '4366' };
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.telegram.userSays(OWNER, 'hi');
  await waitFor(() => chatOf(world).includes('ok'));
  await mkdir(join(world.workspace, 'cron'), { recursive: true });
  await writeFile(join(world.workspace, 'cron', 'jobs.json'), JSON.stringify({ jobs: [{ ...job, payload }] }));
  await waitFor(() => chatOf(world).some((text) => text.includes('writes to "whatsapp", which isn\'t a channel here')));
});
