import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CHATS, killHard, prepareHome, seeded, slowSends, startChild, stopSoftly } from './crash-process.ts';
import { answerNumbers } from './crash-run.ts';
import { readLedger } from './crash-steps.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import { startFakeTelegram } from './fake-telegram.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

export interface StopReport {
  readonly messages: number;
  readonly stops: number;
  /** Replies to a /stop that are no marked resend. */
  readonly stopReplies: number;
  readonly markedReplies: number;
  /** Messages, turns and replies that never came to an end. */
  readonly open: number;
  readonly answeredTwice: readonly number[];
  readonly repeatedEffects: readonly number[];
}

/** Kills the assistant while people say things and stop them again. */
export async function crashWithStops(plan: { readonly kills: number; readonly seed: number }): Promise<StopReport> {
  const random = seeded(plan.seed);
  await using folder = await tempFolder();
  await using telegram = await startFakeTelegram();
  await using model = await startFakeOpenAi({ handler: answerNumbers });
  await prepareHome(folder.path, telegram, model.url, 'openai');
  slowSends(telegram, random);
  let messages = 0;
  let stops = 0;
  const say = (): void => {
    const chat = CHATS[Math.floor(random() * CHATS.length)] ?? 0;
    if (random() < 0.25) {
      stops += 1;
      telegram.userSays(chat, '/stop');
    } else {
      messages += 1;
      telegram.userSays(chat, `please do number ${messages}`);
    }
  };
  for (let kill = 0; kill < plan.kills; kill += 1) {
    const child = await startChild(folder.path);
    const end = performance.now() + 50 + random() * 500;
    while (performance.now() < end) {
      say();
      await delay(20 + random() * 60);
    }
    await killHard(child);
  }
  const child = await startChild(folder.path);
  await waitFor(() => telegram.unconfirmed.length === 0 && readLedger(folder.path).open === 0, {
    timeoutMs: 60_000,
    what: 'everything comes to an end',
  }).catch(() => {});
  await stopSoftly(child);
  const texts = telegram.sentMessages.map(({ visibleText }) => visibleText);
  const replies = texts.filter((text) => /^(?:↻ )?(?:Stopped|Nothing (?:is|was) running)/u.test(text));
  const plain = texts.filter((text) => !text.startsWith('↻')).flatMap((text) => numbers(text, /answer (?<n>\d+)\./gu));
  const file = join(folder.path, 'workspace', 'effects.txt');
  const effects = existsSync(file) ? numbers(readFileSync(file, 'utf8'), /(?<n>\d+)/gu) : [];
  return {
    messages,
    stops,
    stopReplies: replies.filter((text) => !text.startsWith('↻')).length,
    markedReplies: replies.filter((text) => text.startsWith('↻')).length,
    open: readLedger(folder.path).open,
    answeredTwice: repeated(plain),
    repeatedEffects: repeated(effects),
  };
}

function numbers(text: string, pattern: RegExp): number[] {
  return [...text.matchAll(pattern)].map((match) => Number(match.groups?.['n']));
}

function repeated(all: readonly number[]): number[] {
  return [...new Set(all.filter((n, i) => all.indexOf(n) !== i))];
}
