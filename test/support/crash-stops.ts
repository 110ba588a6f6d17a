import { setTimeout as delay } from 'node:timers/promises';
import { CHATS, killHard, prepareHome, seeded, slowSends, startChild, stopSoftly } from './crash-process.ts';
import { isMarked, judgeEffects, judgeTexts } from './crash-judge.ts';
import { effectLines } from './crash-run.ts';
import { countOpen } from './crash-steps.ts';
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
  /** Messages, turns and replies that never came to an end. */
  readonly open: number;
  readonly doubled: readonly string[];
  readonly tripled: readonly string[];
  readonly repeatedEffects: readonly string[];
}

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
    const child = await startChild(folder.path);
    const end = performance.now() + 50 + random() * 500;
    while (performance.now() < end) {
      say();
      await delay(20 + random() * 60);
    }
    await killHard(child);
  }
  const child = await startChild(folder.path);
  await waitFor(() => telegram.unconfirmed.length === 0 && countOpen(folder.path) === 0, {
    timeoutMs: 180_000,
    what: 'everything comes to an end',
  }).catch(() => {});
  await stopSoftly(child);
  const texts = telegram.sentMessages.map(({ visibleText }) => visibleText);
  const replies = texts.filter((text) => /^(?:↻ )?(?:Stopped|Nothing (?:is|was) running)/u.test(text));
  const { doubled, tripled } = judgeTexts({ asked: [], texts, answered, gaveUp, told: [], uncertain: [] });
  const { repeatedEffects } = judgeEffects({ asked: [], done: effectLines(folder.path), explained: [] });
  return {
    messages,
    stops,
    stopReplies: replies.filter((text) => !isMarked(text)).length,
    markedReplies: replies.filter(isMarked).length,
    open: countOpen(folder.path),
    doubled,
    tripled,
    repeatedEffects,
  };
}
