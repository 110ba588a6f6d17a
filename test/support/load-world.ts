import { fork, type ChildProcess } from 'node:child_process';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { startChild } from '../bench/child.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import type { FakeModel } from './fake-model.ts';
import { startFakeTelegram, type FakeTelegram } from './fake-telegram.ts';
import { tempFolder } from './temp.ts';

const CHILD = fileURLToPath(new URL('./load-child.ts', import.meta.url));
const FIRST_CHAT = 10_000;

/** Event loop: how late by its own work, and by the clock, which other programs move too. The highest memory. */
const figures = z.record(z.enum(['p99Ms', 'maxMs', 'wallP99Ms', 'wallMaxMs', 'rssMb', 'heapMb']), z.number());

/** An assistant in a process of its own, which many people write to; the doubles are in this process. */
export interface LoadWorld extends AsyncDisposable {
  readonly telegram: FakeTelegram;
  readonly model: FakeModel;
  readonly chats: readonly number[];
  /** Its event loop and its memory since the last call. */
  measure(): Promise<z.output<typeof figures>>;
  /** Stops it and counts the messages of its inbox by state, for each chat. */
  stopAndCount(): Promise<ReadonlyMap<number, ReadonlyMap<string, number>>>;
}

export async function startLoadWorld({ chats: count }: { readonly chats: number }): Promise<LoadWorld> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const telegram = stack.use(await startFakeTelegram());
  const model = stack.use(await startFakeOpenAi());
  model.setHandler(({ view }) => `Answer to ${view.lastUserText.split('\n').at(-1)}`);
  const chats = Array.from({ length: count }, (_, n) => FIRST_CHAT + n);
  const home = join(folder.path, 'home');
  await mkdir(home, { mode: 0o700 });
  const config = {
    agent: { model: 'openai/scripted-model', whenBusy: 'queue' },
    providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
    channels: { telegram: { token: telegram.token, apiRoot: telegram.apiRoot, allowFrom: chats.map(String) } },
    heartbeat: { enabled: false },
    log: { level: 'error', format: 'json' },
  };
  await writeFile(join(home, 'config.json'), JSON.stringify(config));
  const child = fork(CHILD, [home], {
    execArgv: ['--max-semi-space-size=4'],
  });
  stack.defer(() => gone(child));
  await nextMessage(child);
  const owned = stack.move();
  return {
    telegram,
    model,
    chats,
    measure: async () => {
      child.send('measure');
      return figures.parse(await nextMessage(child));
    },
    stopAndCount: async () => {
      await gone(child);
      using db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
      const counts = new Map<number, Map<string, number>>();
      for (const row of db.prepare('SELECT chat, state, count(*) AS n FROM inbound GROUP BY chat, state').all()) {
        const chat = counts.get(Number(row['chat'])) ?? new Map<string, number>();
        counts.set(Number(row['chat']), chat.set(String(row['state']), Number(row['n'])));
      }
      return counts;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the assistant ended'));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  if (child.connected) child.send('stop');
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await ended;
  clearTimeout(timer);
}

/** What one durable write costs here, median ms. */
export async function fsyncFloor(): Promise<number> {
  await using folder = await tempFolder();
  await using file = await open(join(folder.path, 'floor'), 'a');
  const times: number[] = [];
  for (let n = 0; n < 200; n += 1) {
    const began = performance.now();
    await file.write('x');
    await file.datasync();
    times.push(performance.now() - began);
  }
  return times.toSorted((a, b) => a - b)[100] ?? 0;
}

/** Of a bare process of Node, ms; what the limits are for. */
const REFERENCE_START_MS = 45;

/** How much slower than that this machine is now, with all else that runs on it; at least 1. */
export async function slowness(): Promise<number> {
  const starts: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    await using child = await startChild(['-e', `process.stderr.write('{"msg":"ready"}');setTimeout(()=>{},9e3)`]);
    starts.push(child.readyMs);
  }
  return Math.max(1, (starts.toSorted((a, b) => a - b)[2] ?? 0) / REFERENCE_START_MS);
}
