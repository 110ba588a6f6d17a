import { readdir, readFile, writeFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isoIn } from '../../src/core/util/time-zone.ts';
import { brokenSentence } from '../../src/extensions/cron/jobs-file.ts';
import { CronWorld } from './cron-world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const vienna = (at: number): string => isoIn(at, 'Europe/Vienna').slice(0, 19);
const START = Date.UTC(2026, 10, 21, 12);

async function running(): Promise<CronWorld> {
  const world = await CronWorld.open(START);
  await world.start();
  return world;
}

describe('what is due', () => {
  test('a reminder is sent once at its time, without a turn, and leaves the file', async () => {
    await using world = await running();
    await world.add({ id: 'stretch', at: '2026-11-21T13:00:30', text: 'Stretch!' });
    await world.clock.advance(29_000);
    expect(world.sent()).toEqual([]);
    await world.clock.advance(2_000);
    expect(world.sent()).toEqual(['Stretch!']);
    expect(world.requests).toEqual([]);
    expect(await world.onDisk()).toEqual([]);
    await world.clock.advance(5 * HOUR);
    await world.stop();
    await world.start();
    expect(world.sent()).toEqual(['Stretch!']);
    expect(world.runs('stretch')).toMatchObject([{ execution: 'ok', delivery: 'waiting', lateMs: 0 }]);
  });

  test('comes although another job cannot be looked at', async () => {
    await using world = await CronWorld.open();
    await world.start();
    const { store } = world;
    const taken = store.takenAfter.bind(store);
    store.takenAfter = (job, after) => {
      if (job === 'broken') throw new Error('a row is damaged');
      return taken(job, after);
    };
    await world.add({ id: 'broken', every: '10s', text: 'Never.' });
    await world.add({ id: 'stretch', at: '2026-11-21T13:00:30', text: 'Stretch!' });
    await world.clock.advance(60_000);
    expect(world.sent()).toEqual([expect.stringContaining('Stretch!')]);
  });

  test('a task is a turn in a session of its own, in the chat it came from, with its creator’s role', async () => {
    await using world = await running();
    world.role = 'trusted';
    await world.add({ id: 'news', kind: 'agent', cron: '0 14 * * *', text: '/new is what I want' }, 'owner');
    await world.clock.advance(HOUR + 1);
    expect(world.requests.map(({ message }) => message)).toMatchObject([
      {
        channel: 'telegram',
        chatId: '42',
        sessionKey: 'cron:news',
        role: 'trusted',
        origin: 'cron',
        externalId: `cron:news:${START + HOUR}`,
      },
    ]);
    const text = world.requests[0]?.message.text ?? '';
    expect(text).toMatch(
      /^Scheduled task "news", due Sat 2026-11-21 14:00 \(Europe\/Vienna\):\n\n\/new is what I want/u,
    );
    expect(world.runs('news')).toMatchObject([{ execution: 'ok', delivery: 'none' }]);
  });

  test('session main is the chat’s own conversation', async () => {
    await using world = await running();
    await world.add({ id: 'news', kind: 'agent', every: '1h', session: 'main' });
    await world.clock.advance(HOUR);
    expect(world.requests[0]?.message.sessionKey).toBe('telegram:42');
  });

  test('in another chat nobody’s private things are shown', async () => {
    await using world = await running();
    await world.add({ id: 'there', kind: 'agent', every: '1h', chat: 'telegram:77:5' });
    await world.clock.advance(HOUR);
    expect(world.requests[0]?.message).toMatchObject({ chatId: '77', threadId: '5', chatType: 'group' });
  });

  test('a command is run as it is, for an owner only', async () => {
    await using world = await running();
    await world.add({ id: 'ls', kind: 'command', every: '1h', text: ',list_dir' });
    await world.clock.advance(HOUR);
    expect(world.requests.map(({ message }) => message.text)).toEqual([',list_dir']);
    world.role = 'trusted';
    await world.clock.advance(HOUR);
    expect(world.requests).toHaveLength(1);
    expect(world.notices).toMatchObject([
      { text: 'I switched the job `ls` off: the person who created it may no longer do this.' },
    ]);
    expect((await world.onDisk())[0]).toMatchObject({ id: 'ls', enabled: false });
  });

  test('nothing runs for somebody who was shut out', async () => {
    await using world = await running();
    world.role = null;
    await world.add({ id: 'mine', every: '1h' }, 'trusted');
    await world.clock.advance(3 * HOUR);
    expect(world.sent()).toEqual([]);
    expect(world.runs('mine')).toMatchObject([{ execution: 'skipped' }]);
  });

  test('no timer is longer than a minute, and none is set when it stops', async () => {
    await using world = await CronWorld.open(START);
    const ofJournal = world.clock.waiting;
    await world.start();
    await world.add({ id: 'far', at: '2027-11-21T13:00:30' });
    await world.clock.advance(1_000);
    expect(world.clock.waiting).toBeGreaterThan(ofJournal);
    await world.stop();
    expect(world.clock.waiting).toBe(ofJournal);
  });
});

describe('what was missed', () => {
  test('of a repeated job the newest runs late, the others are written down', async () => {
    await using world = await running();
    await world.add({ id: 'hourly', kind: 'agent', every: '1h', from: '2026-11-21T12:00:00Z' });
    await world.stop();
    world.clock.jump(5 * HOUR + 10 * MINUTE);
    await world.start();
    await world.clock.advance(10_000);
    expect(world.runs('hourly')).toMatchObject([
      { execution: 'missed', count: 4, dueAt: START + HOUR, lastDue: START + 4 * HOUR },
      { execution: 'ok', dueAt: START + 5 * HOUR },
    ]);
    expect(world.requests[0]?.message.text).toContain('10m 5s late');
  });

  test('beyond the grace, or with catchUp skip, none runs late', async () => {
    await using world = await running();
    await world.add({ id: 'daily', kind: 'agent', cron: '0 14 * * *' });
    await world.stop();
    world.settings = { ...world.settings, graceMinutes: 30 };
    world.clock.jump(2 * HOUR);
    await world.start();
    await world.clock.advance(10_000);
    expect(world.runs('daily')).toMatchObject([{ execution: 'missed', count: 1 }]);
    await world.stop();
    world.settings = { catchUp: 'skip', graceMinutes: 720, maxConcurrent: 2 };
    world.clock.jump(24 * HOUR);
    await world.start();
    expect(world.runs('daily')).toMatchObject([{ execution: 'missed', count: 2 }]);
    await world.clock.advance(23 * HOUR);
    expect(world.requests.map(({ at }) => vienna(at))).toEqual(['2026-11-23T14:00:00']);
  });

  test('a reminder comes late and says so, however late; a task that is too late is told of', async () => {
    await using world = await running();
    await world.add({ id: 'call', at: '2026-11-21T14:00', text: 'Call Ann.' });
    await world.add({ id: 'work', at: '2026-11-21T14:00', kind: 'agent' });
    await world.stop();
    world.clock.jump(48 * HOUR);
    await world.start();
    await world.clock.advance(10_000);
    expect(world.sent().toSorted()).toEqual([
      "Call Ann.\n\n_Late: this was for Sat 2026-11-21 14:00 (Europe/Vienna), and I couldn't send it then._",
      'I missed the task `work` of Sat 2026-11-21 14:00 (Europe/Vienna): I was not running until it was too late. It was not done.',
    ]);
    expect(world.requests).toEqual([]);
    expect(await world.onDisk()).toEqual([]);
  });

  test('while the machine slept or its clock was put forward is not called a time at which I was off', async () => {
    await using world = await running();
    await world.add({ id: 'work', at: '2026-11-21T14:00', kind: 'agent' });
    await world.add({ id: 'daily', cron: '0 14 * * *', kind: 'agent' });
    world.clock.jump(30 * 24 * HOUR);
    await world.clock.advance(2 * MINUTE);
    const why = 'the machine was asleep or busy then, or its clock was put forward';
    expect(world.sent()).toEqual([
      `I missed the task \`work\` of Sat 2026-11-21 14:00 (Europe/Vienna): ${why}. It was not done.`,
    ]);
    expect(world.runs('daily')[0]).toMatchObject({ execution: 'missed', reason: why });
  });

  test('thousands of missed times are written down in one line', async () => {
    await using world = await running();
    await world.add({ id: 'tick', every: '10s', from: '2026-11-21T12:00:00Z' });
    await world.stop();
    world.clock.jump(8 * HOUR);
    await world.start();
    await world.clock.advance(1);
    expect(world.runs('tick')).toMatchObject([
      { execution: 'missed', count: 2879 },
      { execution: 'ok', dueAt: START + 8 * HOUR },
    ]);
  });
});

describe('when the clock is put', () => {
  test('back, nothing runs again and the next run comes in its time', async () => {
    await using world = await running();
    await world.add({ id: 'hourly', kind: 'agent', every: '1h', from: '2026-11-21T12:00:00Z' });
    await world.clock.advance(2 * HOUR + 1_000);
    expect(world.requests).toHaveLength(2);
    world.clock.jump(-2 * HOUR);
    await world.clock.advance(2 * HOUR + 30_000);
    expect(world.requests).toHaveLength(2);
    await world.clock.advance(HOUR);
    expect(world.requests).toHaveLength(3);
  });

  test('forward and back, no time runs twice and every time runs that comes', async () => {
    await using world = await running();
    await world.add({ id: 'hourly', kind: 'agent', every: '1h', from: '2026-11-21T12:00:00Z' });
    world.clock.jump(24 * HOUR);
    await world.clock.advance(2 * MINUTE);
    world.clock.jump(-24 * HOUR);
    await world.clock.advance(25 * HOUR);
    const keys = world.requests.map(({ message }) => message.externalId);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toHaveLength(25);
  });
});

describe('when much is due at once', () => {
  test('runs begin at least 5 s apart and no more than two at a time; reminders do not wait', async () => {
    await using world = await running();
    world.outcome = null;
    for (const id of ['a', 'b', 'c']) await world.add({ id, kind: 'agent', cron: '0 14 * * *' });
    await world.add({ id: 'r', cron: '0 14 * * *', text: 'Up!' });
    await world.clock.advance(HOUR + 30_000);
    expect(world.sent()).toEqual(['Up!']);
    expect(world.requests.map(({ at }) => at - START - HOUR)).toEqual([0, 5_000]);
    world.outcome = 'answered';
    await world.finish();
    await world.clock.settled();
    expect(world.requests.map(({ at }) => at - START - HOUR)).toEqual([0, 5_000, 30_000]);
  });

  test('a run that is still going on is not run beside itself', async () => {
    await using world = await running();
    world.outcome = null;
    await world.add({ id: 'slow', kind: 'agent', every: '1m', from: '2026-11-21T12:00:00Z' });
    await world.clock.advance(3 * MINUTE);
    expect(world.requests).toHaveLength(1);
    expect(world.runs('slow')).toMatchObject([
      { execution: 'running' },
      { execution: 'skipped', count: 2, reason: 'the previous run had not ended' },
    ]);
  });

  test('people go first, for a minute', async () => {
    await using world = await running();
    world.peopleWait = true;
    await world.add({ id: 'a', kind: 'agent', cron: '0 14 * * *' });
    await world.clock.advance(HOUR + 20_000);
    expect(world.requests).toEqual([]);
    world.peopleWait = false;
    await world.clock.advance(10_000);
    expect(world.requests).toHaveLength(1);
  });
});

describe('a job that fails', () => {
  test('rests 30 s, 1, 5, 15, 60 minutes; after 3 failures the owner is told, after 10 it is off', async () => {
    await using world = await running();
    world.outcome = 'failed';
    await world.add({ id: 'bad', kind: 'agent', every: '10s', from: '2026-11-21T12:00:00Z' });
    await world.clock.advance(12 * HOUR);
    const gaps = world.requests.slice(1).map(({ at }, index) => (at - (world.requests[index]?.at ?? 0)) / 1_000);
    expect(gaps).toEqual([30, 60, 300, 900, 3600, 3600, 3600, 3600, 3600]);
    expect(world.notices.map(({ text }) => text)).toEqual([
      'The job `bad` failed 3 times in a row. `/cron show bad` says why, and `/cron run bad` runs it now; after 10 failures I switch it off.',
      'The job `bad` failed 10 times in a row, so I switched it off. `/cron show bad` says why, `/cron run bad` runs it once more, and `/cron enable bad` switches it on again.',
    ]);
    expect((await world.onDisk())[0]).toMatchObject({ enabled: false });
    const all = world.store.runs('bad', 1000);
    expect(all.filter(({ execution }) => execution === 'failed')).toHaveLength(10);
  });

  test('does not rest until the old time comes again when the clock is put back, and goes on counting', async () => {
    await using world = await running();
    world.outcome = 'failed';
    await world.add({ id: 'bad', kind: 'agent', every: '1h', from: '2026-10-01T00:00:00Z' });
    await world.clock.advance(HOUR + 1);
    expect(world.requests).toHaveLength(1);
    world.clock.jump(-30 * 24 * HOUR);
    await world.clock.advance(2 * HOUR + 1);
    expect(world.requests).toHaveLength(3);
    expect(world.notices.map(({ text }) => text)).toEqual([expect.stringContaining('failed 3 times in a row')]);
    world.outcome = 'answered';
    await world.clock.advance(3 * HOUR);
    expect(world.requests).toHaveLength(6);
    expect(world.runs('bad').filter(({ execution }) => execution === 'skipped')).toEqual([]);
  });

  test('begins anew after a success', async () => {
    await using world = await running();
    world.outcome = 'failed';
    await world.add({ id: 'bad', kind: 'agent', every: '10s', from: '2026-11-21T12:00:00Z' });
    await world.clock.advance(2 * MINUTE);
    expect(world.requests).toHaveLength(3);
    world.outcome = 'answered';
    await world.clock.advance(5 * MINUTE);
    const before = world.requests.length;
    await world.clock.advance(MINUTE);
    expect(world.requests.length - before).toBe(6);
  });
});

describe('the file', () => {
  test('a job that is only found there waits for the owner, who is told once', async () => {
    await using world = await running();
    const job = { id: 'theirs', every: '1h', text: 'Hello', chat: 'telegram:42' };
    await world.edit([job]);
    await world.clock.advance(2 * HOUR);
    expect(world.sent()).toEqual([]);
    expect(world.notices).toMatchObject([{ id: expect.stringMatching(/^found:theirs:/u), text: 'Hello' }]);
    const entry = world.jobStore.entry('theirs');
    expect(entry?.state).toBe('waiting');
    if (entry !== undefined) await world.jobStore.agree(entry, { ...entryCreator });
    await world.clock.advance(HOUR);
    expect(world.sent()).toEqual(['Hello']);
  });

  test('a changed job waits too; switching one off by hand is heeded, switching one on is not', async () => {
    await using world = await running();
    await world.add({ id: 'mine', every: '1h', text: 'Mine' });
    const [job] = await world.onDisk();
    await world.edit([{ ...job, text: 'Theirs' }]);
    expect(world.jobStore.entry('mine')?.state).toBe('waiting');
    await world.edit([{ ...job, enabled: false }]);
    expect(world.jobStore.entry('mine')?.state).toBe('off');
    await world.edit([{ ...job, enabled: true }]);
    expect(world.jobStore.entry('mine')?.state).toBe('active');
    await world.jobStore.setEnabled('mine', false);
    await world.edit([{ ...job, enabled: true }]);
    expect(world.jobStore.entry('mine')?.state).toBe('waiting');
    await world.clock.advance(3 * HOUR);
    expect(world.sent()).toEqual([]);
  });

  test('a job that was taken out by hand has no agreement when it comes back', async () => {
    await using world = await running();
    await world.add({ id: 'mine', every: '1h', text: 'Mine' });
    const jobs = await world.onDisk();
    await world.edit([]);
    await world.edit(jobs);
    expect(world.jobStore.entry('mine')?.state).toBe('waiting');
  });

  test.each([
    ['{"version": 1, "jobs": [', 'it is not JSON'],
    ['{"version": 2, "jobs": []}', 'version:'],
    [
      '{"version":1,"jobs":[{"id":"A B","every":"1h","text":"x","chat":"telegram:42"}]}',
      'jobs.0.id: expected an id of small letters, digits and hyphens',
    ],
    [
      '{"version":1,"jobs":[{"id":"a","every":"1h","cron":"* * * * *","text":"x","chat":"telegram:42"}]}',
      'just one of "at", "every" and "cron"',
    ],
    ['{"version":1,"jobs":[{"id":"a","every":"1s","text":"x","chat":"telegram:42"}]}', 'the job a: The shortest step'],
    ['{"version":1,"jobs":[{"id":"a","cron":"0 0 31 2 *","text":"x","chat":"telegram:42"}]}', 'never occurs'],
    ['{"version":1,"jobs":[{"id":"a","every":"1h","text":"x","chat":"42"}]}', '"chat" must be channel:chat'],
    [
      '{"version":1,"jobs":[{"id":"a","every":"1h","kind":"command","text":"rm","chat":"telegram:42"}]}',
      'the text of a command is a comma and a tool',
    ],
    ['{"version":1,"jobs":[{"id":"a","at":"in 20m","text":"x","chat":"telegram:42"}]}', '"at" must be a date'],
  ])('%s is kept aside, told, and what was read last goes on', async (text, reason) => {
    await using world = await running();
    await world.add({ id: 'mine', every: '1h', text: 'Mine' });
    await world.edit(text);
    expect(world.notices).toMatchObject([{ text: expect.stringContaining(reason) }]);
    await world.clock.advance(HOUR);
    await world.stop();
    await world.start();
    await world.clock.advance(HOUR);
    expect(world.sent()).toEqual(['Mine', 'Mine']);
    await world.add({ id: 'more', every: '1h' });
    expect((await world.onDisk()).map(({ id }) => id)).toEqual(['mine', 'more']);
  });

  test('what can’t be read is told, what was read last goes on, and it is read as soon as it can be', async () => {
    await using world = await running();
    await world.add({ id: 'mine', every: '1h', text: 'Mine' });
    const text = await readFile(world.path, 'utf8');
    await world.stop();
    await rm(world.path);
    await symlink(world.path, world.path);
    await world.start();
    expect(world.notices).toMatchObject([{ text: 'it can’t be read (ELOOP)' }]);
    expect(world.jobStore.broken?.copy).toBeNull();
    await world.clock.advance(HOUR);
    expect(world.sent()).toEqual(['Mine']);
    await rm(world.path);
    await world.edit(text);
    expect(world.jobStore.broken).toBeNull();
    await world.clock.advance(HOUR);
    expect(world.sent()).toEqual(['Mine', 'Mine']);
  });

  test('keeps what is added while it is being looked at', async () => {
    await using world = await running();
    const over = new AbortController();
    const looking = (async () => {
      while (!over.signal.aborted) {
        await world.jobStore.refresh();
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (let n = 0; n < 30; n += 1) await world.add({ id: `job-${n}`, every: '1h' });
    over.abort();
    await looking;
    expect(world.jobStore.entries.map(({ state }) => state)).toEqual(Array.from({ length: 30 }, () => 'active'));
    expect(world.notices).toEqual([]);
  });
});

describe('a time zone given to one job', () => {
  test.each(['UTC', 'Europe/Berlin'])('is that job’s only, on a machine in %s', async (machineZone) => {
    await using world = await CronWorld.open(START);
    world.zones = { timezone: null, machineZone };
    await world.start();
    const { service } = world;
    const by = { creator: entryCreator, role: 'owner', chat: 'terminal:main' } as const;
    const nine = { when: 'tomorrow at 9', kind: 'message' } as const;
    await service.add(by, { ...nine, text: 'Sushi', zone: 'Asia/Tokyo' });
    await service.add(by, { when: '0 9 * * *', kind: 'message', text: 'Rise', zone: 'Asia/Tokyo' });
    expect(JSON.parse(await readFile(world.path, 'utf8'))).not.toHaveProperty('zone');
    const other = service.add(by, { ...nine, text: 'Dentist' });
    if (machineZone === 'UTC') await expect(other).rejects.toThrow('time zone is not known');
    else expect((await other).text).toContain('09:00 (Europe/Berlin)');
    const { text } = await service.list(by);
    expect(text.match(/`sushi`.*/u)?.[0]).toContain('once, Sun 2026-11-22 09:00 (Asia/Tokyo)');
    expect(text.match(/`rise`.*/u)?.[0]).toContain('next Sun 2026-11-22 09:00 (Asia/Tokyo)');
    await service.add(by, { when: 'every 2h', kind: 'message', text: 'Drink', zone: 'Asia/Tokyo' });
    const shown = await service.show(by, 'drink');
    expect(shown.text).toMatch(/next Sat 2026-11-21 23:00 \(Asia\/Tokyo\)/u);
    expect((await service.show(by, 'sushi')).jobs[0]?.next[0]).toContain('T09:00:00+09:00');
  });
});

describe('another program’s jobs.json', () => {
  const nanobot = {
    version: 1,
    jobs: [
      {
        id: 'a1b2c3d4',
        name: 'Water the plants',
        enabled: true,
        schedule: { kind: 'cron', atMs: null, everyMs: null, expr: '0 9 * * 1-5', tz: 'Asia/Tokyo' },
        payload: { kind: 'agent_turn', message: 'Water!', deliver: true, channel: 'telegram', to: '42' },
        state: { nextRunAtMs: 1, lastRunAtMs: null, lastStatus: null, lastError: null },
        createdAtMs: 1_700_000_000_000,
        updatedAtMs: 1_700_000_000_000,
        deleteAfterRun: false,
      },
      {
        id: 'e5f6a7b8',
        name: 'Drink',
        enabled: false,
        schedule: { kind: 'every', atMs: null, everyMs: 7_200_000, expr: null, tz: null },
        payload: { kind: 'agent_turn', message: 'Drink!', deliver: true, channel: 'cli', to: 'direct' },
        state: {},
        createdAtMs: 1_700_000_000_000,
      },
      {
        id: 'dream',
        name: 'dream',
        enabled: true,
        schedule: { kind: 'cron', atMs: null, everyMs: null, expr: '0 */2 * * *', tz: 'UTC' },
        payload: { kind: 'system_event', message: '', deliver: false, channel: null, to: null },
        state: {},
        createdAtMs: 1_700_000_000_000,
      },
    ],
  };
  const openClaw = {
    version: 1,
    jobs: [
      {
        id: '0b9e4a10-0000-4000-8000-000000000000',
        agentId: 'main',
        name: 'Report',
        enabled: true,
        deleteAfterRun: true,
        createdAtMs: 1_700_000_000_000,
        updatedAtMs: 1_700_000_000_000,
        schedule: { kind: 'at', at: '2027-03-01T09:00:00' },
        sessionTarget: 'isolated',
        wakeMode: 'now',
        payload: { kind: 'agentTurn', message: 'Report.' },
        delivery: { mode: 'announce', channel: 'telegram', to: 'telegram:-100:topic:7' },
        state: {},
      },
    ],
  };

  test('of nanobot is imported, and runs nothing before the owner approves it', async () => {
    await using world = await CronWorld.open(START);
    await writeFile(world.path, JSON.stringify(nanobot));
    await world.start();
    expect(world.jobStore.broken).toBeNull();
    expect(world.jobStore.entries.map(({ state }) => state)).toEqual(['waiting', 'waiting']);
    expect(JSON.parse(await readFile(world.path, 'utf8'))).toMatchObject({
      version: 1,
      jobs: [
        {
          id: 'water-the-plants',
          kind: 'agent',
          text: 'Water!',
          cron: '0 9 * * 1-5',
          zone: 'Asia/Tokyo',
          chat: 'telegram:42',
        },
        { id: 'drink', every: '2h', chat: 'terminal:main', enabled: false },
      ],
    });
    await world.clock.advance(3 * 86_400_000);
    expect(world.requests).toEqual([]);
    expect(await readdir(join(world.folder, 'quarantine'))).toHaveLength(1);
  });

  test('of OpenClaw is imported, with its bare times in UTC', async () => {
    await using world = await CronWorld.open(START);
    await writeFile(world.path, JSON.stringify(openClaw));
    await world.start();
    expect(world.jobStore.entries).toMatchObject([
      { state: 'waiting', job: { id: 'report', at: '2027-03-01T09:00:00.000Z', chat: 'telegram:-100:7' } },
    ]);
  });

  test('that replaces the list of a running assistant is imported too, and its jobs run once they are approved', async () => {
    await using world = await CronWorld.open(START);
    await world.start();
    await world.edit(JSON.stringify(nanobot));
    await world.clock.advance(3 * 86_400_000);
    expect(world.requests).toEqual([]);
    const [plants] = world.jobStore.entries;
    if (plants === undefined) throw new Error('no job was imported');
    await world.jobStore.agree(plants, entryCreator);
    await world.clock.advance(3 * 86_400_000);
    expect(world.requests.length).toBeGreaterThan(0);
  });

  test('as a bare list is imported too', async () => {
    await using world = await CronWorld.open(START);
    await writeFile(world.path, JSON.stringify(openClaw.jobs));
    await world.start();
    expect(world.jobStore.broken).toBeNull();
    expect(world.jobStore.entries).toMatchObject([{ job: { id: 'report' } }]);
  });

  const [fromOpenClaw] = openClaw.jobs;
  const [fromNanobot] = nanobot.jobs;
  const cron = (expr: string): object => ({ schedule: { kind: 'cron', expr } });
  const payload = (part: object): object => ({ payload: { ...fromNanobot?.payload, ...part } });

  test.each([
    ['OpenClaw', '0 30 9 * * *'],
    ['nanobot', '30 9 * * * 0'],
  ])('of %s may name the second 0 in a cron expression', async (program, expr) => {
    await using world = await CronWorld.open(START);
    const job = program === 'nanobot' ? fromNanobot : fromOpenClaw;
    await writeFile(world.path, JSON.stringify({ version: 1, jobs: [{ ...job, ...cron(expr) }] }));
    await world.start();
    expect(world.jobStore.entries).toMatchObject([{ job: { cron: '30 9 * * *' } }]);
  });

  test.each([
    ['whose chat is not said', fromOpenClaw, { delivery: { mode: 'announce', channel: 'last' } }, 'names no chat'],
    ['without a chat', fromNanobot, payload({ to: null }), 'names no chat'],
    [
      'for a channel that this home doesn’t have',
      fromNanobot,
      payload({ channel: 'whatsapp', to: '4366' }),
      'writes to "whatsapp", which isn\'t a channel here. Set that channel up',
    ],
    [
      'for such a channel',
      fromOpenClaw,
      { delivery: { mode: 'announce', channel: 'whatsapp', to: '+43660' } },
      'or change the "channel" and "to" of its "delivery"',
    ],
    ['without a text', fromNanobot, payload({ message: ' ' }), 'the job "Water the plants" of nanobot has no text'],
    ['with a very long text', fromNanobot, payload({ message: 'x'.repeat(20_001) }), 'has a text of more than 20000'],
    ['in a zone that is none', fromNanobot, { schedule: { kind: 'every', everyMs: 5, tz: 'Local' } }, 'has a schedule'],
    ['of another kind', fromNanobot, { schedule: { kind: 'event' } }, 'has a "schedule.kind" that can’t be read'],
    ['with a number as a text', fromNanobot, { schedule: { kind: 'every', everyMs: '6' } }, 'has a "schedule.everyMs"'],
    [
      'whose only time is past',
      fromNanobot,
      { schedule: { kind: 'at', atMs: 1_500_000_000_000 } },
      'was due on 2017-07-14 and isn’t needed any more. Remove the job, or change its "schedule"',
    ],
    ['with seconds', fromOpenClaw, cron('30 0 9 * * *'), 'the job "Report" of OpenClaw has a schedule'],
    ['that delivers to nobody', fromOpenClaw, { delivery: { mode: 'none' } }, 'sends its result to nobody'],
    ['that must not deliver', fromNanobot, payload({ deliver: false }), 'sends its result to nobody'],
    ['that does not say that it delivers', fromNanobot, payload({ deliver: undefined }), 'sends its result to nobody'],
  ])('with a job %s is refused with what to change', async (_title, job, part, sentence) => {
    await using world = await CronWorld.open(START);
    await writeFile(world.path, JSON.stringify({ version: 1, jobs: [{ ...job, ...part }] }));
    await world.start();
    expect(world.jobStore.broken?.reason).toContain(sentence);
    expect(world.jobStore.broken?.reason).toMatch(/save the file to import/u);
    await world.clock.advance(3 * 86_400_000);
    expect(world.requests).toEqual([]);
  });
});

describe('another program’s jobs.json with jobs that can’t be imported', () => {
  const job = (n: number, part: object = {}): object => ({
    id: `a${n}`,
    name: `Job ${n}`,
    enabled: true,
    schedule: { kind: 'every', everyMs: 3_600_000 },
    payload: { kind: 'agent_turn', message: 'Go.', deliver: true, channel: 'telegram', to: '42' },
    ...part,
  });
  const idsOf = (world: CronWorld): readonly string[] => world.jobStore.entries.map((entry) => entry.job.id);

  test('imports the others, names those, and keeps the file until they are corrected', async () => {
    await using world = await CronWorld.open(START);
    const odd = [job(2, { schedule: { kind: 'event' } }), job(3, { payload: null }), 5, job(4, { enabled: 'maybe' })];
    const text = JSON.stringify({ version: 1, jobs: [job(1), ...odd, job(5, { enabled: 'false' })] });
    await writeFile(world.path, text);
    await world.start();
    expect(world.jobStore.entries).toMatchObject([
      { job: { id: 'job-1', enabled: true }, state: 'waiting' },
      { job: { id: 'job-5', enabled: false }, state: 'waiting' },
    ]);
    const { broken } = world.jobStore;
    if (broken === null) throw new Error('nothing was named');
    expect(brokenSentence(broken)).toBe(
      'I imported 2 jobs from cron/jobs.json, but not all: the job "Job 2" has a "schedule.kind" that can’t be read. Correct it, or remove the job, and save the file to import the rest. Not imported either: "Job 3", "number 4", "Job 4".',
    );
    expect(await readFile(broken.copy ?? '', 'utf8')).toBe(text);
    const [first] = world.jobStore.entries;
    if (first === undefined) throw new Error('no job was imported');
    await world.jobStore.agree(first, entryCreator);
    expect(await readFile(world.path, 'utf8')).toBe(text);
    await world.edit(JSON.stringify({ version: 1, jobs: [job(1), job(2), job(5)] }));
    expect(world.jobStore.broken).toBeNull();
    expect(world.jobStore.entries).toMatchObject([
      { job: { id: 'job-1' }, state: 'active' },
      { job: { id: 'job-2' }, state: 'waiting' },
      { job: { id: 'job-5' }, state: 'waiting' },
    ]);
  });

  test('imports as many as there can be', async () => {
    await using world = await CronWorld.open(START);
    const jobs = Array.from({ length: 203 }, (_, n) => job(n + 1));
    await writeFile(world.path, JSON.stringify({ version: 1, jobs }));
    await world.start();
    expect(idsOf(world)).toHaveLength(200);
    expect(world.jobStore.broken?.reason).toMatch(
      /^the job "Job 201" of nanobot is one too many, .*"Job 202", "Job 203"$/u,
    );
  });

  test('keeps this program’s own jobs beside them', async () => {
    await using world = await CronWorld.open(START);
    const own = { id: 'job-1', kind: 'agent', text: 'Mine.', every: '1h', chat: 'telegram:1' };
    await writeFile(world.path, JSON.stringify({ version: 1, jobs: [job(1), own] }));
    await world.start();
    expect(world.jobStore.broken).toBeNull();
    expect(idsOf(world)).toEqual(['job-1-2', 'job-1']);
  });
});

const entryCreator = { channel: 'terminal', id: 'owner', account: 'local', chat: 'main', chatType: 'direct' } as const;
