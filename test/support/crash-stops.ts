import { setTimeout as delay } from 'node:timers/promises';
import {
  CHATS,
  killHard,
  prepareHome,
  seeded,
  slowSends,
  startChild,
  startTimed,
  stopSoftly,
} from './crash-process.ts';
import { isMarked, judgeEffects, judgeTexts } from './crash-judge.ts';
import { effectLines } from './crash-run.ts';
import { countOpen, readLedger } from './crash-steps.ts';
import { answerAfterWork, answered, gaveUp, request } from './crash-talk.ts';
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
  /** Those that may not have arrived, and a notice said so. */
  readonly toldReplies: number;
  /** Messages, turns and replies that never came to an end. */
  readonly open: number;
  readonly doubled: readonly string[];
  readonly tripled: readonly string[];
  readonly repeatedEffects: readonly string[];
}

/** A process lives at most so long after its start, or as long as that took on a busy machine. */
const LIFE_MS = 500;

/** Kills the assistant while people say things and stop them again. */
export async function crashWithStops(plan: { readonly kills: number; readonly seed: number }): Promise<StopReport> {
  const random = seeded(plan.seed);
  await using folder = await tempFolder();
  await using telegram = await startFakeTelegram();
  await using model = await startFakeOpenAi({ handler: answerAfterWork });
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
      telegram.userSays(chat, request(messages));
    }
  };
  for (let kill = 0; kill < plan.kills; kill += 1) {
    const { child, startMs } = await startTimed(folder.path);
    const end = performance.now() + 50 + random() * Math.max(LIFE_MS, startMs);
    while (performance.now() < end) {
      say();
      await delay(20 + random() * 60);
    }
    await killHard(child);
  }
  const child = await startChild(folder.path);
  const toTheEnd = (): Promise<unknown> =>
    waitFor(() => telegram.unconfirmed.length === 0 && countOpen(folder.path) === 0, {
      timeoutMs: 180_000,
      what: 'everything comes to an end',
    }).catch(() => {});
  await toTheEnd();
  // What was lost in a chat is told in front of its next answer.
  for (const chat of CHATS) {
    messages += 1;
    telegram.userSays(chat, request(messages));
  }
  await toTheEnd();
  await stopSoftly(child);
  const texts = telegram.sentMessages.map(({ visibleText }) => visibleText);
  const isReply = (text: string): boolean => /^(?:↻ )?(?:Stopped|Nothing (?:is|was) running)/u.test(text);
  const replies = texts.filter(isReply);
  const { doubled, tripled } = judgeTexts({ asked: [], texts, answered, gaveUp, told: [], uncertain: [] });
  const { repeatedEffects } = judgeEffects({ asked: [], done: effectLines(folder.path), explained: [] });
  return {
    messages,
    stops,
    stopReplies: replies.filter((text) => !isMarked(text)).length,
    markedReplies: replies.filter(isMarked).length,
    toldReplies: readLedger(folder.path).told.filter(isReply).length,
    open: countOpen(folder.path),
    doubled,
    tripled,
    repeatedEffects,
  };
}
