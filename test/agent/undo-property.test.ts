import type { RecordedJob } from '../../src/core/storage/change-log.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Undo } from '../../src/core/agent/undo/undo.ts';
import type { App } from '../../src/core/app.ts';
import { jobSchema } from '../../src/extensions/cron/job.ts';
import { restoreJobs } from '../../src/extensions/cron/restore-jobs.ts';
import type { PutReason } from '../../src/core/memory/files/kept-text.ts';
import { MemoryStore } from '../../src/core/memory/files/store.ts';
import { plainDisk } from '../../src/core/storage/disk.ts';
import { PathGuard, type Inside, type PathGuardOptions } from '../../src/core/security/paths/open-inside.ts';
import { UndoLog, type UndoRecord } from '../../src/core/storage/undo-log.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { openMarks } from '../support/marks.ts';
import { appWith } from '../support/app-with.ts';
import { CronWorld } from '../automation/cron-world.ts';
import { turnEnd, turnStart, user } from '../session/tapes.ts';
import { SESSION, sessionsWorld } from './sessions-world.ts';
import { PATHS } from '../support/extensions.ts';

const FILES = ['a.txt', 'USER.md', 'HEARTBEAT.md', 'notes/b.md', 'skills/tea/SKILL.md'];
const JOBS = ['tea', 'plants', 'report'];
const CREATOR = { channel: 'telegram', id: '42', account: 'bot', chat: '42', chatType: 'direct' } as const;

/** The same numbers for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Who wrote what into a thing since the last undo, oldest first; null: it is not there. */
type Story = { readonly by: 'turn' | 'somebody'; readonly text: string | null }[];

/** What a thing has to hold after all turns were taken back, and whether it has to be named. */
function expectedOf(before: string | null, story: Story): { readonly text: string | null; readonly isNamed: boolean } {
  const others = story.findLastIndex(({ by }) => by === 'somebody');
  const text = others === -1 ? before : (story[others]?.text ?? null);
  const last = story.at(-1)?.text ?? before;
  const isOurs = story.some(({ by }) => by === 'turn');
  return { text, isNamed: isOurs && (last !== text || others === story.length - 1) };
}

/** Writes as the guard does, unless the process ends there. */
class MortalGuard extends PathGuard {
  readonly #mortal: <T>(write: () => Promise<T>) => Promise<T>;

  constructor(options: PathGuardOptions, mortal: <T>(write: () => Promise<T>) => Promise<T>) {
    super(options);
    this.#mortal = mortal;
  }

  override async openInside(...args: Parameters<PathGuard['openInside']>): Promise<Inside> {
    const place = await super.openInside(...args);
    const [write, remove] = [place.write.bind(place), place.remove.bind(place)];
    place.write = (...written) => this.#mortal(() => write(...written));
    place.remove = () => this.#mortal(remove);
    return place;
  }
}

/** Real file tools, memory and schedule, and the undo that the program has over them. */
async function undoWorld(stack: AsyncDisposableStack) {
  const world = stack.use(await sessionsWorld());
  const cron = stack.use(await CronWorld.open());
  await cron.start();
  const { files, sessions, session } = world;
  const { home, workspace, clock, changes } = files;
  const versions = join(home, 'versions');
  const memory = new MemoryStore({ workspace, versions, clock, log: silentLog, timezone: null });
  const undone = new UndoLog({ folder: join(versions, 'undo', 'done'), disk: plainDisk });
  /** An undo whose process ends before or after its write number `dies`, counted from 1; 0: it lives. */
  const undoOf = (dies: number, after: boolean) => {
    let writes = 0;
    const death = Promise.withResolvers<undefined>();
    const dead = new Promise<never>(() => {});
    const mortal = async <T>(write: () => Promise<T>): Promise<T> => {
      writes += 1;
      const isLast = writes === dies;
      const done = isLast && !after ? dead : await write();
      if (!isLast) return done;
      death.resolve(undefined);
      return await dead;
    };
    const guard = new MortalGuard({ paths: PATHS, workspace, home, readRoots: [], restrictToWorkspace: true }, mortal);
    const undo = new Undo(
      appWith({
        clock,
        paths: { workspace } as App['paths'],
        plugins: {
          each: (what: string) =>
            what === 'undo'
              ? [
                  [
                    'cron',
                    {
                      restore: (recorded: readonly RecordedJob[], dry: boolean) => {
                        const work = () => restoreJobs(recorded, { jobStore: cron.jobStore, clock: cron.clock, dry });
                        return dry ? work() : mortal(work);
                      },
                    },
                  ],
                ]
              : [],
        } as unknown as App['plugins'],
        sessions,
        marks: openMarks({ workspace }),
        changes,
        landing: { ofTurn: () => [] } as unknown as App['landing'],
        undone,
        memory,
        journal: { subagents: { ofTurn: () => [] } } as unknown as App['journal'],
        editors: { folderOf: () => undefined } as unknown as App['editors'],
        search: { scheduleSync: () => {} } as App['search'],
        tools: files.registry,
        guard,
      }),
    );
    return { undo, death: death.promise };
  };
  return { ...world, session, cron, memory, undoOf };
}

const named = (record: UndoRecord, name: string): string | undefined =>
  record.items.find((item) => item.name === name)?.outcome;

test('200 random turns are taken back: what no one else touched is byte for byte as before, the rest stays and is named, killed or not', async () => {
  await using stack = new AsyncDisposableStack();
  const { files, session, cron, memory, undoOf } = await undoWorld(stack);
  const random = randomOf(20_261_126);
  const fileText = (name: string): Promise<string | null> =>
    readFile(join(files.workspace, name), 'utf8').catch(() => null);
  const jobText = (id: string): string | null => {
    const state = cron.jobStore.state(id);
    return state === null ? null : JSON.stringify([state.job, state.agreed]);
  };
  let count = 0;
  let turns = 0;
  let kills = 0;
  while (turns < 200) {
    const before = new Map<string, string | null>();
    for (const name of FILES) before.set(name, await fileText(name));
    for (const id of JOBS) before.set(id, jobText(id));
    const facts = await fileText('memory/MEMORY.md');
    const stories = new Map<string, Story>([...FILES, ...JOBS].map((name) => [name, []]));
    const story = (name: string, by: Story[number]['by'], text: string | null): void =>
      void stories.get(name)?.push({ by, text });
    const somebodysFacts: string[] = [];
    const many = 1 + random(4);
    for (let n = 0; n < many; n += 1) {
      turns += 1;
      const turn = `turn-${String(turns).padStart(4, '0')}`;
      await session.append([turnStart(turn), user(turn, `say ${turns}`)]);
      for (let calls = random(3); calls >= 0; calls -= 1) {
        count += 1;
        const callId = `${turn}.${count}`;
        const call = { sessionKey: SESSION, turnId: turn, callId };
        const record = (change: Parameters<NonNullable<PutReason['record']>>[0]) =>
          files.changes.recordChange({ ...call, ...change, keepAfter: true });
        const name = FILES[random(FILES.length)] ?? '';
        const id = JOBS[random(JOBS.length)] ?? '';
        const kind = random(6);
        if (kind < 3) {
          const text = `by turn ${count}\r\n`;
          await files.call('write_file', { path: name, content: text }, call);
          story(name, 'turn', await fileText(name));
        } else if (kind < 5) {
          await memory.change({ fact: `fact ${count}` }, { record });
        } else {
          const state = (one: unknown): string | null => (one === null ? null : JSON.stringify(one));
          const recordJob = ({ job, before: was, after: is }: { job: string; before: unknown; after: unknown }) =>
            files.changes.recordJob({ ...call, job, before: state(was), after: state(is) });
          const job = jobSchema.parse({ id, text: `job ${count}`, every: '1h', chat: 'telegram:42' });
          if (cron.jobStore.entry(id) === undefined || random(2) === 0) {
            await cron.jobStore.add(job, { creator: CREATOR, role: 'owner' }, cron.clock.now(), recordJob);
          } else await cron.jobStore.remove(id, recordJob);
          story(id, 'turn', jobText(id));
        }
      }
      await session.append([turnEnd(turn, 'Done.')]);
      if (random(3) > 0) continue;
      count += 1;
      const touched = FILES[random(FILES.length)] ?? '';
      if ((await fileText(touched)) !== null) {
        await writeFile(join(files.workspace, touched), `by somebody ${count}`);
        story(touched, 'somebody', `by somebody ${count}`);
      }
      if (random(2) === 0) {
        somebodysFacts.push(`somebody ${count}`);
        await memory.change({ fact: `somebody ${count}` });
      }
    }

    const dies = random(4);
    const { undo, death } = undoOf(dies, random(2) === 0);
    const plan = await undo.planLast(SESSION, many);
    if ('boundary' in plan) throw new Error('nothing to undo');
    const id = `undo-${turns}`;
    let record = await Promise.race([undo.perform(id, plan), death]);
    if (record === undefined) {
      kills += 1;
      const next = undoOf(0, false).undo;
      expect(await next.unfinished()).toEqual([id]);
      record = await next.finish(id);
    }
    if (record === undefined) throw new Error('the undo left no record');

    for (const [name, written] of stories) {
      const expected = expectedOf(before.get(name) ?? null, written);
      const is = FILES.includes(name) ? await fileText(name) : jobText(name);
      expect({ name, is }).toEqual({ name, is: expected.text });
      if (!expected.isNamed) continue;
      const left = written.at(-1)?.by === 'somebody';
      expect({ name, outcome: named(record, name) ?? '' }).toEqual({
        name,
        outcome: left ? 'left' : expect.stringMatching(/^(?:restored|removed|partly)$/u),
      });
    }
    const now = await fileText('memory/MEMORY.md');
    if (somebodysFacts.length === 0) expect(now).toBe(facts);
    else {
      const own = (text: string | null): readonly string[] => (text ?? '').match(/^- .*$/gmu) ?? [];
      const wanted = [...own(facts), ...somebodysFacts.map((fact) => `- ${fact}`)];
      expect(own(now).toSorted()).toEqual(wanted.toSorted());
    }
    expect(session.history().messages).toEqual([]);
  }
  expect(kills).toBeGreaterThan(10);
}, 60_000);
