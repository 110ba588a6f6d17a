import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { createAssistant } from '../../src/app.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { CHATS, killHard, prepareHome, seeded, slowSends, startChild, stopSoftly } from './crash-process.ts';
import { judgeTexts } from './crash-judge.ts';
import { countOpen, readLedger } from './crash-steps.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import { startFakeTelegram } from './fake-telegram.ts';
import type { ModelApiRequest, Step } from './model-script.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

const STEP_MS = 10_000;
/** From one kill to the next, about, on a slow machine; so long something is due at each second. */
const CYCLE_MS = 2_500;
/** Setting one job takes less than this. */
const ADD_MS = 30;

export interface CronCrashReport {
  readonly kills: number;
  /** Kills with a run, a turn or a send in flight. */
  readonly inside: number;
  readonly reminders: number;
  /** Reminders and tasks of which nobody ever heard. */
  readonly lost: readonly string[];
  /** What the journal says of them. */
  readonly traces: readonly unknown[];
  /** Those that came twice without the mark of an uncertain resend. */
  readonly doubled: readonly string[];
  /** Those of which more than one marked copy came. */
  readonly tripled: readonly string[];
  readonly marked: number;
  /** Due times of the repeated job: run, and written down as missed. */
  readonly ticks: number;
  readonly missed: number;
  /** Due times of it of which nothing is written down. */
  readonly unreported: number;
  /** It was said more often than it was due. */
  readonly extraTicks: number;
  /** Messages, turns and replies that never came to an end. */
  readonly open: number;
}

/**
 * Kills the assistant around the whole seconds at which something is due each: reminders, tasks and a job that repeats
 * every ten seconds.
 */
export async function crashAroundDueTimes(plan: {
  readonly kills: number;
  readonly seed: number;
}): Promise<CronCrashReport> {
  const random = seeded(plan.seed);
  await using folder = await tempFolder();
  await using telegram = await startFakeTelegram();
  await using model = await startFakeOpenAi({ handler: doTask });
  await prepareHome(folder.path, telegram, model.url, 'openai');
  slowSends(telegram, random);
  const count = Math.ceil((plan.kills * CYCLE_MS) / 1_000);
  const names = await schedule(folder.path, count);
  let inside = 0;
  for (let kill = 0; kill < plan.kills; kill += 1) {
    forgetStarts(folder.path);
    const child = await startChild(folder.path);
    const second = Math.ceil((Date.now() + 100) / 1_000) * 1_000;
    await delay(Math.max(0, second - Date.now() - 100 + random() * 400));
    await killHard(child);
    if (countOpen(folder.path) > 0) inside += 1;
  }
  forgetStarts(folder.path);
  const child = await startChild(folder.path);
  let settled = false;
  const said = (): readonly string[] => telegram.sentMessages.map(({ visibleText }) => visibleText);
  const heardOf = (name: string): boolean => said().some((text) => text.includes(`${name}.`));
  await waitFor(() => names.every(heardOf) && countOpen(folder.path) === 0, {
    // Runs that need a model begin five seconds apart: they fall behind, since one is due every three.
    timeoutMs: 300_000,
    what: 'everything that was due',
  })
    .then(() => (settled = true))
    .catch(() => {});
  await stopSoftly(child);
  const ticks = tickRows(folder.path);
  const { told } = readLedger(folder.path);
  const verdict = judgeTexts({ asked: names, texts: said(), answered: nameOf, gaveUp: nameIn, told, uncertain: [] });
  return {
    kills: plan.kills,
    inside,
    reminders: names.length,
    lost: verdict.lost,
    traces: verdict.lost.map((name) => traceOf(folder.path, name)),
    doubled: verdict.doubled,
    tripled: verdict.tripled,
    marked: verdict.marks,
    ticks: ticks.ran,
    missed: ticks.missed,
    unreported: ticks.unreported,
    extraTicks: Math.max(0, said().filter((text) => text.startsWith('Tick')).length - ticks.ran),
    open: settled ? 0 : countOpen(folder.path),
  };
}

/** What is due: one thing at each second from soon on. Returns their names. */
async function schedule(home: string, count: number): Promise<readonly string[]> {
  await using assistant = await createAssistant({
    home,
    serve: 'local',
    log: silentLog,
    environment: { PATH: process.env['PATH'], HOME: home },
  });
  const start = Math.ceil(Date.now() / 1_000) * 1_000 + 3_000 + count * ADD_MS;
  const names: string[] = [];
  const add = async (job: { id: string; when: string; text: string; kind: 'message' | 'agent' }): Promise<void> => {
    const chat = `telegram:${CHATS[names.length % CHATS.length] ?? 0}`;
    await assistant.call('cron', { action: 'add', job: { ...job, chat } });
  };
  await add({ id: 'tick', when: 'every 10s', text: 'Tick', kind: 'message' });
  for (let n = 0; n < count; n += 1) {
    const when = new Date(start + n * 1_000).toISOString().replace('.000Z', 'Z');
    const isTask = n % 3 === 2;
    const name = `${isTask ? 'task' : 'reminder'}-${n}`;
    names.push(name);
    await add({ id: name, when, text: `${name}.`, kind: isTask ? 'agent' : 'message' });
  }
  return names;
}

/** The answer names the task, as a notice that it was given up does. */
function doTask({ view }: ModelApiRequest): Step {
  const name = /(?<name>task-\d+)\./u.exec(view.lastUserText)?.groups?.['name'] ?? 'nothing';
  return { delayMs: 15, text: `I did ${name}.` };
}

/** As if the kills lay far apart: after many in a few minutes a start is one in safe mode, in which the schedule rests. */
function forgetStarts(home: string): void {
  rmSync(homePaths(home).starts, { force: true });
}

/** What a reminder or the answer to a task is about. */
function nameOf(text: string): readonly string[] {
  const name = /^(?:I did )?(?<name>(?:task|reminder)-\d+)\./u.exec(text)?.groups?.['name'];
  return name === undefined ? [] : [name];
}

/** What a notice is about that gives a task up. */
function nameIn(text: string): readonly string[] {
  const name = /(?<name>task-\d+)\..*gave up on it/u.exec(text)?.groups?.['name'];
  return name === undefined ? [] : [name];
}

function traceOf(home: string, name: string): unknown {
  using db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  return db
    .prepare(
      `SELECT run.job, run.state, run.reason, run.late_ms, inbound.state AS inbound, turns.state AS turn, turns.outcome,
         (SELECT group_concat(id || ' ' || state || ' ' || coalesce(reason, ''), ' | ') FROM outbound
          WHERE outbound.id = run.outbound_id OR outbound.turn_id = inbound.turn_id) AS says,
         (SELECT state FROM cron_job WHERE cron_job.id = ?1) AS job_state
       FROM cron_run AS run LEFT JOIN inbound ON inbound.id = run.inbound_id LEFT JOIN turns ON turns.id = inbound.turn_id
       WHERE run.job = ?1`,
    )
    .all(name);
}

function tickRows(home: string): { readonly ran: number; readonly missed: number; readonly unreported: number } {
  using db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  const rows = db
    .prepare("SELECT due_at, last_due, count, state FROM cron_run WHERE job = 'tick' ORDER BY due_at")
    .all()
    .map((row) => ({
      from: Number(row['due_at']),
      to: Number(row['last_due']),
      count: Number(row['count']),
      ran: row['state'] === 'claimed',
    }));
  const gaps = rows.slice(1).map(({ from }, n) => (from - (rows[n]?.to ?? from)) / STEP_MS - 1);
  const inner = rows.map(({ from, to, count }) => (to - from) / STEP_MS + 1 - count);
  const sum = (list: readonly number[]): number => list.reduce((all, one) => all + one, 0);
  return {
    ran: rows.filter(({ ran }) => ran).length,
    missed: sum(rows.map(({ ran, count }) => (ran ? 0 : count))),
    unreported: sum([...gaps, ...inner].filter((n) => n > 0)),
  };
}
