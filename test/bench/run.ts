import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { diskEnvironment, readSyncs } from '../support/disk-library.ts';
import { startFakeDiscord } from '../support/fake-discord.ts';
import { startFakeSlack } from '../support/fake-slack.ts';
import { startChild, type Child } from './child.ts';
import { BENCH_TOKEN, startPeers } from './servers.ts';
import { writeLongTape } from './long-tape.ts';

/**
 * Measures the whole process against lean servers on loopback, next to floors measured in the same run.
 * `--dist` measures the built package instead of the source. Exits 1 when a limit is exceeded.
 */
const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '..', '..');
const DIST = process.argv.includes('--dist');
const ENTRY = join(ROOT, DIST ? 'dist/launcher.cjs' : 'src/launcher.cjs');

const GATEWAY = ['--max-semi-space-size=4', ENTRY, 'gateway', '--port', '0'];

interface Row {
  readonly what: string;
  readonly value: string;
  readonly floor: string;
  readonly limit: string;
  readonly ok: boolean;
}

const REFERENCE_START_MS = 61;

const rows: Row[] = [];
let machine = '';
const ms = (value: number): string => `${value.toFixed(1)} ms`;
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

if (!existsSync(ENTRY)) throw new Error(`${ENTRY} does not exist; run npm run build first`);
const folder = await mkdtemp(join(tmpdir(), 'assistant-bench-'));
await using peers = await startPeers();
try {
  await measure();
} finally {
  await rm(folder, { recursive: true, force: true });
}
printTable();
process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1;

async function measure(): Promise<void> {
  const fsync = await measureFsync();
  const floor = await measureFloor();
  // The limits are those of a machine on which the bare daemon starts in 61 ms; a slower one scales them.
  const scale = Math.max(1, floor.start / REFERENCE_START_MS);
  const aim = DIST
    ? { start: 200, first: 80, turn: 4, waits: 5, tool: 1, rate: 350, slow: 1.2, prompt: 6000, tape: 1.1 }
    : { start: 450, first: 150, turn: 6, waits: 7, tool: 2, rate: 200, slow: 1.5, prompt: 6000, tape: 1.2 };
  const limits = {
    ...aim,
    start: aim.start * scale,
    first: aim.first * scale,
    turn: aim.turn * scale + aim.waits * fsync,
    tool: aim.tool * scale + 3 * fsync,
    rate: aim.rate / scale,
    slow: 1 + (aim.slow - 1) * scale,
  };
  machine = `this machine starts a bare daemon in ${ms(floor.start)}: times may take ${scale.toFixed(1)} × the design's`;

  const starts: number[] = [];
  for (let i = 0; i < 7; i += 1) {
    await using child = await startAssistant('start');
    starts.push(child.readyMs);
  }
  add('start → ready', median(starts), limits.start, ms, ms(floor.start));
  add('start → all three channels run', await startOfThree(), 2 * limits.start, ms, ms(floor.start));

  {
    await using child = await startAssistant('idle');
    await pause(3000);
    const memory = child.memory();
    rows.push({
      what: 'idle memory',
      value: `${memory.toFixed(0)} MiB`,
      floor: `${floor.memory.toFixed(0)} MiB`,
      limit: DIST ? '100 MiB' : 'report',
      ok: !DIST || memory <= 100,
    });
    add('first turn after start', await time(() => peers.ask(1, 'hi')), limits.first, ms, ms(floor.turn));
    const hi = peers.requests.at(-1) ?? '';
    add('bare "hi", bytes / 4', Buffer.byteLength(hi) / 4, limits.prompt, (value) => `${Math.round(value)} tokens`, '');
    const warm = await timeTurns(100, 'hello');
    add(
      'own overhead of a warm turn, p50',
      median(warm) - floor.turn,
      limits.turn,
      ms,
      `${ms(floor.turn)}, fsync ${ms(fsync)}`,
    );
    const perCall = (await timeToolCalls()) - floor.modelCall;
    add('own overhead of a tool call, p50', perCall, limits.tool, ms, ms(floor.modelCall));
    add('requests that share their prefix', sharedPrefix(), 100, (value) => `${value.toFixed(0)}%`, '', 'least');
  }
  await measureCrowd(limits.rate, limits.slow, floor.rate);
  await measureSlowDisk();
  await measureMemoryCard(floor.turn, scale);
  await measureLongTape(limits.tape);
}

async function startOfThree(): Promise<number> {
  await using discord = await startFakeDiscord();
  await using slack = await startFakeSlack();
  const home = await prepareHome('three', {
    discord: { token: discord.token, apiBase: discord.apiBase, allowFrom: ['1'] },
    slack: { ...slack.config, allowFrom: ['U0ONE'] },
  });
  const starts: number[] = [];
  for (let i = 0; i < 7; i += 1) {
    // The terminal is the fourth.
    await using child = await startChild([...GATEWAY, '--home', home], {}, 4);
    starts.push(child.readyMs);
  }
  return median(starts);
}

async function measureCrowd(rate: number, slow: number, floorRate: number): Promise<void> {
  await using child = await startAssistant('crowd');
  await crowd(2);
  const [turns, seconds] = await crowd(20);
  add('50 sessions, 0 ms model', turns / seconds, rate, perSecond, perSecond(floorRate), 'least');
  peers.setModelDelay(1000);
  const [, waited] = await crowd(1);
  peers.setModelDelay(0);
  add('50 sessions, 1 s model', waited, slow, (value) => `${value.toFixed(2)} s`, '1.00 s');
  rows.push({
    what: 'memory after that',
    value: `${child.memory().toFixed(0)} MiB`,
    floor: '',
    limit: 'report',
    ok: true,
  });
}

/** Turns and seconds of 50 chats that each say `each` things, one after the other. */
async function crowd(each: number): Promise<readonly [number, number]> {
  const began = performance.now();
  await Promise.all(
    Array.from({ length: 50 }, async (_, chat) => {
      for (let i = 0; i < each; i += 1) await peers.ask(1000 + chat, `hello ${i}`);
    }),
  );
  return [50 * each, (performance.now() - began) / 1000];
}

async function measureSlowDisk(): Promise<void> {
  const disk = await diskEnvironment({ delayMs: 3 });
  const what = '50 sessions, 0 ms model, each fsync + 3 ms';
  if (disk === undefined) {
    rows.push({ what, value: 'no C compiler', floor: '', limit: DIST ? '150 turns/s' : 'report', ok: !DIST });
    return;
  }
  await using _child = await startAssistant('slow-disk', disk);
  await crowd(1);
  const [turns, seconds] = await crowd(6);
  rows.push({
    what,
    value: perSecond(turns / seconds),
    floor: '',
    limit: DIST ? '≥ 150 turns/s' : 'report',
    ok: !DIST || turns / seconds >= 150,
  });
}

/** A memory card: what a plain turn takes, and how long its syncs hold up the event loop, which is not at all. */
async function measureMemoryCard(floorMs: number, scale: number): Promise<void> {
  const log = join(folder, 'syncs');
  const disk = await diskEnvironment({ delayMs: 20, log });
  if (disk === undefined) return;
  await using _child = await startAssistant('memory-card', disk);
  await timeTurns(30, 'hello');
  await pause(1000);
  const before = readSyncs(log).length;
  const turns = await timeTurns(30, 'hello');
  const syncs = readSyncs(log).slice(before);
  const blocked = syncs
    .filter(({ onMainThread }) => onMainThread)
    .reduce((sum, one) => sum + one.endedMs - one.beganMs, 0);
  const shortest = Math.min(...syncs.map(({ beganMs, endedMs }) => endedMs - beganMs));
  const floor = `${ms(floorMs)} + 3 × ${ms(shortest)}`;
  add('warm plain turn, each fsync + 20 ms, p50', median(turns), 60 + 15 * scale, ms, floor);
  add('its syncs on the event loop', blocked / turns.length, 3, ms, '0.0 ms');
}

async function measureLongTape(limit: number): Promise<void> {
  const home = await prepareHome('tape');
  await writeLongTape(join(home, 'sessions'), 'telegram:21', 100);
  await writeLongTape(join(home, 'sessions'), 'telegram:22', 100_000);
  const short: number[] = [];
  const long: number[] = [];
  await using _child = await startAssistant('tape');
  await peers.ask(1, 'warm up');
  await peers.ask(21, 'open');
  await peers.ask(22, 'open');
  for (let i = 0; i < 40; i += 1) {
    short.push(await time(() => peers.ask(21, `again ${i}`)));
    long.push(await time(() => peers.ask(22, `again ${i}`)));
  }
  const ratio = median(long) / median(short);
  add('turn on 100,000 entries ÷ on 100', ratio, limit, (value) => value.toFixed(2), ms(median(short)));
}

async function measureFloor(): Promise<{
  start: number;
  memory: number;
  turn: number;
  modelCall: number;
  rate: number;
}> {
  const args = [join(HERE, 'floor.mjs'), `${peers.telegramRoot}/bot${BENCH_TOKEN}`, peers.modelUrl];
  const starts: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    await using child = await startChild(args);
    starts.push(child.readyMs);
  }
  await using child = await startChild(args);
  await timeTurns(20, 'hello');
  const memory = child.memory();
  const turn = median(await timeTurns(100, 'hello'));
  const modelCall = (median(await timeTurns(30, 'tools 10')) - turn) / 10;
  await crowd(2);
  const [turns, seconds] = await crowd(20);
  return { start: median(starts), memory, turn, modelCall, rate: turns / seconds };
}

/** The mean of the two durable waits: an append with fdatasync, and a commit. */
async function measureFsync(): Promise<number> {
  const file = await open(join(folder, 'append'), 'a');
  const db = new DatabaseSync(join(folder, 'fsync.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (x TEXT)');
  const insert = db.prepare('INSERT INTO t VALUES (?)');
  const appends: number[] = [];
  const commits: number[] = [];
  for (let i = 0; i < 200; i += 1) {
    const began = performance.now();
    await file.write('x'.repeat(200));
    await file.datasync();
    appends.push(performance.now() - began);
    const middle = performance.now();
    insert.run('x'.repeat(200));
    commits.push(performance.now() - middle);
  }
  await file.close();
  db.close();
  return (median(appends) + median(commits)) / 2;
}

async function timeTurns(count: number, text: string): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i += 1) times.push(await time(() => peers.ask(2, text)));
  return times;
}

/** What a tool call with its model call adds to a turn, in young chats: the length of a history is not its matter. */
async function timeToolCalls(): Promise<number> {
  const plain: number[] = [];
  const tools: number[] = [];
  for (let chat = 100; chat < 130; chat += 1) {
    await peers.ask(chat, 'hello');
    plain.push(await time(() => peers.ask(chat, 'hello')));
    tools.push(await time(() => peers.ask(chat, 'tools 10')));
  }
  await peers.ask(2, 'tools 3');
  return (median(tools) - median(plain)) / 10;
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Of the requests of the second chat: how many begin with the one before. */
function sharedPrefix(): number {
  const seen = peers.requests
    .map((text) => JSON.parse(text) as { messages: { content: unknown }[]; tools?: unknown })
    .filter(({ messages }) => messages[1] !== undefined && JSON.stringify(messages[1]).includes('telegram:2 ('));
  let shared = 0;
  let pairs = 0;
  for (const [i, request] of seen.entries()) {
    const before = seen[i - 1];
    if (before === undefined) continue;
    pairs += 1;
    const same = JSON.stringify(request.messages.slice(0, before.messages.length)) === JSON.stringify(before.messages);
    if (same && JSON.stringify(request.tools) === JSON.stringify(before.tools)) shared += 1;
  }
  return pairs === 0 ? 0 : (100 * shared) / pairs;
}

async function prepareHome(name: string, channels: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const home = join(folder, name);
  await mkdir(home, { recursive: true, mode: 0o700 });
  const config = {
    agent: { model: 'openai/bench' },
    providers: { openai: { apiKey: 'bench-key', baseUrl: peers.modelUrl } },
    channels: {
      telegram: { token: BENCH_TOKEN, apiRoot: peers.telegramRoot, allowFrom: ['*'], owners: [] },
      ...channels,
    },
    tools: { guest: ['list_dir', 'read_file', 'write_file', 'edit_file', 'exec'] },
  };
  await writeFile(join(home, 'config.json'), JSON.stringify(config));
  return home;
}

async function startAssistant(name: string, env: Readonly<Record<string, string>> = {}): Promise<Child> {
  const home = await prepareHome(name);
  return startChild([...GATEWAY, '--home', home], env);
}

function add(
  what: string,
  value: number,
  limit: number,
  show: (value: number) => string,
  floor: string,
  direction: 'most' | 'least' = 'most',
): void {
  const ok = direction === 'most' ? value <= limit : value >= limit;
  rows.push({ what, value: show(value), floor, limit: `${direction === 'most' ? '≤' : '≥'} ${show(limit)}`, ok });
}

function perSecond(value: number): string {
  return `${value.toFixed(0)} turns/s`;
}

function pause(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time));
}

function printTable(): void {
  const line = (cells: readonly string[]): string =>
    `${(cells[0] ?? '').padEnd(46)} ${(cells[1] ?? '').padStart(14)}  ${(cells[2] ?? '').padEnd(18)} ${(cells[3] ?? '').padEnd(24)} ${cells[4] ?? ''}\n`;
  process.stdout.write(`assistant, ${DIST ? 'built package' : 'from source'}, Node ${process.version}; ${machine}\n`);
  process.stdout.write(line(['', 'measured', 'limit', 'floor in this run', '']));
  for (const { what, value, limit, floor, ok } of rows) {
    process.stdout.write(line([what, value, limit, floor, ok ? '' : '✗']));
  }
}
