import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { diskEnvironment, readSyncs } from '../support/disk-library.ts';
import { startFakeDiscord } from '../support/fake-discord.ts';
import { startFakeSlack } from '../support/fake-slack.ts';
import type { Child } from './child.ts';
import type { Floor } from './floor.ts';
import { writeHistory, writeLongTape } from './long-tape.ts';
import type { Row } from './table.ts';
import { GUEST, median, pause, quantile, type World } from './world.ts';

/** What the figures of the built package may be on the machine of the limits. */
const LIMITS = {
  startOne: 200,
  startThree: 350,
  idle: 95,
  first: 80,
  warm: 4,
  tool: 1,
  history: 1.3,
  rate: 350,
  ownersRate: 250,
  slowModel: 1.15,
  crowdMemory: 180,
  prompt: 6_000,
} as const;

/** Syncs that a warm turn waits for. */
const WAITS = 3;

interface Measured {
  readonly world: World;
  readonly floor: Floor;
  /** Fewer repetitions, and no measure that takes long. */
  readonly short: boolean;
}

export async function measureStarts({ world, floor, short }: Measured): Promise<readonly Row[]> {
  await using discord = await startFakeDiscord();
  await using slack = await startFakeSlack();
  const three = {
    discord: { token: discord.token, apiBase: discord.apiBase, allowFrom: ['1'] },
    slack: { ...slack.config, allowFrom: ['U0ONE'] },
  };
  const starts = async (channels: Readonly<Record<string, unknown>>, running: number): Promise<number> => {
    const home = await world.home(channels);
    const times: number[] = [];
    // The first one makes what later ones find: the home, and the compiled code.
    for (let i = 0; i < (short ? 4 : 9); i += 1) {
      await using child = await world.startIn(home, { running });
      if (i > 0) times.push(child.readyMs);
    }
    return median(times);
  };
  const { scale, start } = floor;
  return [
    row('start, one channel: ready', await starts({}, 0), 'ms', { floor: start, most: LIMITS.startOne * scale }),
    // The terminal is a channel too.
    row('start, three channels: all run', await starts(three, 4), 'ms', {
      floor: start,
      most: LIMITS.startThree * scale,
    }),
  ];
}

export async function measureTurns({ world, floor, short }: Measured): Promise<readonly Row[]> {
  await using child = await world.start();
  await pause(3_000);
  const idle = child.memory();
  const { peers } = world;
  const first = await world.turn(1, 'hi');
  const hi = Buffer.byteLength(peers.requests.at(-1) ?? '') / 4;
  const count = short ? 40 : 150;
  const fresh = Array.from({ length: 40 }, (_, at) => 100 + at);
  await world.turns(120, { chats: fresh });
  const before = child.cpuMs();
  const owner = await world.turns(count, { chats: fresh });
  const cpu = (child.cpuMs() - before) / count;
  const guests = Array.from({ length: 40 }, (_, at) => GUEST + at);
  await world.turns(60, { chats: guests });
  const guest = await world.turns(count, { chats: guests });
  const { scale, turn, fsync } = floor;
  const warm = LIMITS.warm * scale + WAITS * fsync;
  return [
    row('idle memory', idle, 'MiB', { floor: floor.memory, most: LIMITS.idle }),
    row('first turn', first, 'ms', { floor: turn, most: LIMITS.first * scale }),
    row('request of the owner’s “hi” with all tools, bytes / 4', hi, 'tokens', { most: LIMITS.prompt }),
    row(`own time of a warm turn of the owner, p50 (fsync ${fsync.toFixed(2)} ms)`, median(owner) - turn, 'ms', {
      floor: turn,
      most: warm,
    }),
    row('the same, p95', quantile(owner, 0.95) - turn, 'ms', { floor: turn }),
    row('the same, of a guest, p50', median(guest) - turn, 'ms', { floor: turn }),
    row('time on a processor, for a warm turn of the owner', cpu, 'ms', { floor: floor.cpu }),
    ...(await measureToolCalls({ world, floor, short })),
    row('requests that begin with the one before', sharedPrefix(peers.requests), '%', { least: 100 }),
  ];
}

/** What a tool call with its model call adds to a turn, in young chats: the length of a history is not its matter. */
async function measureToolCalls({ world, floor, short }: Measured): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let chat = 150;
  for (const calls of [1, 10, 50]) {
    const plain: number[] = [];
    const tools: number[] = [];
    for (let i = 0; i < (short || calls === 50 ? 8 : 20); i += 1) {
      chat += 1;
      await world.turn(chat, 'hello');
      plain.push(await world.turn(chat, 'hello'));
      // The cap of a turn is 40 calls.
      tools.push(await world.turn(chat, `tools ${Math.min(calls, 38)}`));
    }
    const each = (median(tools) - median(plain)) / Math.min(calls, 38) - floor.modelCall;
    const limit = calls === 10 ? { most: LIMITS.tool * floor.scale } : {};
    rows.push(
      row(`own time of a tool call, in a turn of ${Math.min(calls, 38)}`, each, 'ms', {
        floor: floor.modelCall,
        ...limit,
      }),
    );
  }
  return rows;
}

/** The same turn in conversations of different ages. */
export async function measureHistory({ world, floor, short }: Measured): Promise<readonly Row[]> {
  const ages = [10, 100, 1_000];
  await using child = await world.start({
    prepare: async (home) => {
      for (const [at, turns] of ages.entries())
        await writeHistory(join(home, 'sessions'), `telegram:${21 + at}`, turns);
      await writeLongTape(join(home, 'sessions'), 'telegram:31', 100);
      await writeLongTape(join(home, 'sessions'), 'telegram:32', 100_000);
    },
  });
  const chats = [21, 22, 23, 31, 32];
  for (let i = 0; i < 6; i += 1) for (const chat of chats) await world.turn(chat, 'again');
  const times = new Map<number, number[]>(chats.map((chat) => [chat, []]));
  const cpu = new Map<number, number>(chats.map((chat) => [chat, 0]));
  const rounds = short ? 20 : 60;
  for (let i = 0; i < rounds; i += 1) {
    for (const chat of chats) {
      const before = child.cpuMs();
      times.get(chat)?.push(await world.turn(chat, 'again'));
      cpu.set(chat, (cpu.get(chat) ?? 0) + child.cpuMs() - before);
    }
  }
  const own = (chat: number): number => median(times.get(chat) ?? []) - floor.turn;
  return [
    ...ages.map((turns, at) => row(`own time of a turn with ${turns} turns of history, p50`, own(21 + at), 'ms')),
    row('the one of 1,000 ÷ the one of 10', own(23) / own(21), '×', { most: LIMITS.history }),
    row('the same of its time on a processor', (cpu.get(23) ?? 0) / (cpu.get(21) ?? 1), '×'),
    row(
      'turn on a tape of 100,000 entries ÷ on one of 100',
      median(times.get(32) ?? []) / median(times.get(31) ?? []),
      '×',
      {
        most: 1.1,
      },
    ),
  ];
}

export async function measureCrowd({ world, floor, short }: Measured): Promise<readonly Row[]> {
  await using child = await world.start({
    prepare: async (home) => {
      for (let chat = 200; chat < 250; chat += 1) await writeHistory(join(home, 'sessions'), `telegram:${chat}`, 100);
    },
  });
  const each = short ? 8 : 20;
  await world.crowd(2, GUEST);
  const guests = await world.crowd(each, GUEST);
  await world.crowd(2, 200);
  const owners = await world.crowd(each, 200);
  world.peers.setModelDelay(1_000);
  const slow = await world.crowd(1, GUEST);
  world.peers.setModelDelay(0);
  const { scale, rate } = floor;
  return [
    row('50 guests at once', guests.turns / guests.seconds, 'turns/s', { floor: rate, least: LIMITS.rate / scale }),
    row('50 owners at once, each with 100 turns of history', owners.turns / owners.seconds, 'turns/s', {
      floor: rate,
      least: LIMITS.ownersRate / scale,
    }),
    row('50 at once with a model that takes 1 s', slow.seconds, 's', { most: 1 + (LIMITS.slowModel - 1) * scale }),
    row('memory after that', child.memory(), 'MiB', { most: LIMITS.crowdMemory }),
  ];
}

/** What a turn asks of the disk, and how it does on slow ones. */
export async function measureDisk({ world, floor, short }: Measured): Promise<readonly Row[]> {
  const rows: Row[] = [...(await measureWrites(world))];
  if (short) return rows;
  const slow = await diskEnvironment({ delayMs: 3 });
  if (slow !== undefined) {
    await using _child = await world.start({ env: slow });
    await world.crowd(1, GUEST);
    const { turns, seconds } = await world.crowd(6, GUEST);
    rows.push(row('50 guests at once, each sync + 3 ms', turns / seconds, 'turns/s', { least: 150 / floor.scale }));
  }
  const log = join(world.folder, 'syncs-of-a-memory-card');
  const card = await diskEnvironment({ delayMs: 20, log });
  if (card === undefined) return rows;
  await using _child = await world.start({ env: card });
  await world.turns(30);
  await pause(1_000);
  const before = readSyncs(log).length;
  const turns = await world.turns(30);
  const onLoop = readSyncs(log)
    .slice(before)
    .filter(({ onMainThread }) => onMainThread)
    .reduce((sum, { beganMs, endedMs }) => sum + endedMs - beganMs, 0);
  rows.push(
    row('warm turn, each sync + 20 ms, p50', median(turns), 'ms', { floor: floor.turn, most: 60 + 15 * floor.scale }),
    row('of that, the event loop waits for syncs', onLoop / turns.length, 'ms', { most: 3 }),
  );
  return rows;
}

/** Figures that hardly depend on the machine: `--check` compares them too. */
export async function measureWrites(world: World, entry?: string): Promise<readonly Row[]> {
  const program = entry === undefined ? {} : { entry };
  const log = join(world.folder, `syncs-${entry === undefined ? 'now' : 'before'}`);
  const disk = await diskEnvironment({ log });
  const rows: Row[] = [];
  if (disk !== undefined) {
    await using child = await world.start({ env: disk, ...program });
    await world.turns(20);
    await pause(1_500);
    const [syncs, bytes] = [readSyncs(log).length, child.writtenBytes()];
    await world.turns(50);
    await pause(1_500);
    rows.push(
      row('syncs of a warm turn', (readSyncs(log).length - syncs) / 50, ''),
      row('bytes that a warm turn writes to the disk', (child.writtenBytes() - bytes) / 50 / 1_024, 'KiB'),
    );
  }
  return [...rows, row('memory that a warm turn allocates', await allocated(world, program), 'KiB')];
}

async function allocated(world: World, program: { readonly entry?: string }): Promise<number> {
  const file = join(
    world.folder,
    `allocated-${world.entry === program.entry || program.entry === undefined ? 'now' : 'before'}`,
  );
  const probe = join(import.meta.dirname, 'probe.mjs');
  await using child = await world.start({ node: ['--import', probe], env: { BENCH_ALLOCATED: file }, ...program });
  await world.turns(60);
  child.signal('SIGUSR2');
  await said(file, (text) => text === 'counting');
  await world.turns(100);
  child.signal('SIGUSR2');
  return Number(await said(file, (text) => /^\d+$/u.test(text))) / 100 / 1_024;
}

async function said(file: string, isIt: (text: string) => boolean): Promise<string> {
  for (let i = 0; i < 200; i += 1) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (isIt(text)) return text;
    await pause(50);
  }
  throw new Error(`${file} was not written within 10 s`);
}

/** Milliseconds on a processor for each of so many warm turns of the owner. */
export async function cpuOfTurns(world: World, child: Child, count: number): Promise<number> {
  const before = child.cpuMs();
  await world.turns(count, { chats: [2, 3, 4, 5] });
  return (child.cpuMs() - before) / count;
}

/** Of the requests of one chat: how many begin with the one before. */
function sharedPrefix(requests: readonly string[]): number {
  const seen = requests
    .map((text) => JSON.parse(text) as { messages: { content: unknown }[]; tools?: unknown })
    .filter(({ messages }) => messages[1] !== undefined && JSON.stringify(messages[1]).includes('telegram:100 ('));
  const shared = seen.slice(1).filter((request, at) => {
    const before = seen[at];
    if (before === undefined) return false;
    const begins = request.messages.slice(0, before.messages.length);
    return (
      JSON.stringify(begins) === JSON.stringify(before.messages) &&
      JSON.stringify(request.tools) === JSON.stringify(before.tools)
    );
  });
  return (100 * shared.length) / (seen.length - 1);
}

function row(what: string, value: number, unit: Row['unit'], limits: Pick<Row, 'floor' | 'most' | 'least'> = {}): Row {
  return { what, value, unit, ...limits };
}
