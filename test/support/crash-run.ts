import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Machine } from './crash-machine.ts';
import {
  CHATS,
  killHard,
  prepareHome,
  seeded,
  slowSends,
  spawnChild,
  startChild,
  startTimed,
  stopSoftly,
} from './crash-process.ts';
import { judgeEffects, judgeTexts, type EffectVerdict, type Verdict } from './crash-judge.ts';
import {
  begunPreviews,
  textsOfTurns,
  countOpen,
  inspectWreck,
  linesOf,
  readLedger,
  STEPS,
  traceOf,
  type CrashStep,
} from './crash-steps.ts';
import { answerAfterWork, answered, asksFor, gaveUp, numbersNamed, numbersWritten, request } from './crash-talk.ts';
import { startFakeAnthropic } from './fake-anthropic.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import { startFakeTelegram, type FakeTelegram } from './fake-telegram.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

export interface CrashPlan {
  readonly kills: number;
  readonly seed: number;
  readonly dialect: 'openai' | 'anthropic';
  /** The machine loses its power with the process. @default false */
  readonly power?: boolean;
  /** How often the next start is killed too before it is left alone. @default 0 */
  readonly during?: number;
}

export interface CrashReport extends Verdict, EffectVerdict {
  readonly kills: number;
  /** Kills with a turn or a send in flight. */
  readonly inside: number;
  readonly histogram: Readonly<Record<CrashStep, number>>;
  readonly messages: number;
  /** What is known of those that were lost, and what the tapes have of effects that are missing. */
  readonly traces: readonly unknown[];
  readonly interruptedNotices: number;
  /** Calls whose outcome nobody knows, by the tapes. */
  readonly interruptedCalls: number;
  /** Of these, the ones that no notice tells of; a notice has the id of its call, so there is never a second. */
  readonly unannounced: readonly string[];
  /** Messages, turns and replies that never came to an end. */
  readonly open: number;
}

/** What a report says when nothing was lost, doubled or marked without reason. */
export const UNHARMED = {
  lost: [],
  doubled: [],
  tripled: [],
  wrongMarks: [],
  repeatedEffects: [],
  missingEffects: [],
  unannounced: [],
  open: 0,
};

const OUTSTANDING = 8;
/** A process lives at most so long after its first step, or as long as its start took on a busy machine. */
const LIFE_MS = 700;
/** A start and what it takes up take about so long, or two starts on a busy machine. */
const RECOVERY_MS = 900;

/** Kills the assistant at random instants while numbered messages stream in, then lets it finish and counts. */
export async function crashRun(plan: CrashPlan): Promise<CrashReport> {
  const random = seeded(plan.seed);
  await using folder = await tempFolder();
  await using telegram = await startFakeTelegram();
  await using model = await (plan.dialect === 'openai' ? startFakeOpenAi : startFakeAnthropic)({
    handler: answerAfterWork,
  });
  await using machine = await Machine.with(join(folder.path, 'home'), { isCut: plan.power === true, random });
  await prepareHome(machine.home, telegram, model.url, plan.dialect);
  slowSends(telegram, random);

  let sent = 0;
  const say = (): void => {
    sent += 1;
    telegram.userSays(CHATS[sent % CHATS.length] ?? 0, request(sent));
  };
  const sendMore = (): void => {
    while (sent - named(telegram).size < OUTSTANDING) say();
  };
  const histogram = Object.fromEntries(STEPS.map((step) => [step, 0])) as Record<CrashStep, number>;
  const uncertain: string[] = [];
  const showing: string[] = [];
  let inside = 0;
  /** What was in flight when a process ended; notes which parts may have been sent. */
  const examine = (modelBusy: boolean): readonly CrashStep[] => {
    const effects = effectLines(machine.home);
    const wreck = inspectWreck(machine.home, {
      modelBusy,
      happened: (command) => numbersWritten(command).some((n) => effects.includes(String(n))),
    });
    uncertain.push(...wreck.sending);
    showing.push(...begunPreviews(machine.home));
    return wreck.steps;
  };

  for (let kill = 0; kill < plan.kills; kill += 1) {
    sendMore();
    const before = progress(telegram, model.requests.length);
    const { child, startMs } = await startTimed(machine.home, await machine.options());
    await waitFor(() => progress(telegram, model.requests.length) > before, { timeoutMs: 120_000, what: 'progress' });
    const end = performance.now() + random() * Math.max(LIFE_MS, startMs);
    while (performance.now() < end) {
      sendMore();
      await delay(Math.min(10, Math.max(0, end - performance.now())));
    }
    const modelBusy = model.inFlight > 0;
    await killHard(child);
    const steps = examine(modelBusy);
    for (const step of steps) histogram[step] += 1;
    if (steps.length > 0) inside += 1;
    await machine.lost();
    uncertain.push(...machine.inDoubt);
    showing.push(...begunPreviews(machine.home));
    for (let again = 0; again < (plan.during ?? 0); again += 1) {
      const recovering = await spawnChild(machine.home, await machine.options());
      await delay(random() * Math.max(RECOVERY_MS, 2 * startMs));
      await killHard(recovering);
      examine(false);
    }
  }

  const child = await startChild(machine.home, await machine.options());
  const settled = (): boolean =>
    telegram.unconfirmed.length === 0 && model.inFlight === 0 && countOpen(machine.home) === 0;
  await waitFor(settled, { timeoutMs: 180_000, what: 'everything comes to an end' }).catch(() => {});
  // What was lost in a chat is told in front of its next answer.
  for (const _chat of CHATS) say();
  await waitFor(() => named(telegram).size >= sent && settled(), {
    timeoutMs: 180_000,
    what: 'every message is answered',
  }).catch(() => {});
  await stopSoftly(child);
  const texts = textsOf(telegram);
  const { interruptedCalls, interruptedWork, notices, told, open } = readLedger(machine.home);
  uncertain.push(...textsOfTurns(machine.home, showing));
  const numbers = Array.from({ length: sent }, (_, n) => n + 1);
  const asked = numbers.flatMap(asksFor);
  const verdict = judgeTexts({ asked, texts, answered, gaveUp, told, uncertain });
  const givenUp = texts.filter((text) => gaveUp(text).length > 0).flatMap(numbersNamed);
  const effects = judgeEffects({
    asked: numbers.map(String),
    done: effectLines(machine.home),
    explained: [...givenUp, ...interruptedWork.flatMap(numbersWritten)].map(String),
  });
  return {
    ...verdict,
    ...effects,
    kills: plan.kills,
    inside,
    histogram,
    messages: sent,
    traces: [
      ...verdict.lost.map((name) => lifeOf(Number(name.split(' ')[1]), machine.home, texts)),
      ...effects.missingEffects.map((name) => linesOf(machine.home, Number(name))),
    ],
    interruptedNotices: texts.filter((text) => text.includes('whether it took effect')).length,
    interruptedCalls: interruptedCalls.length,
    unannounced: interruptedCalls.filter((id) => !notices.includes(id)),
    open,
  };
}

/** What is known of a message that was lost: the journal's rows, the tape's lines, and each text that people saw of it. */
function lifeOf(n: number, home: string, texts: readonly string[]): unknown {
  const seen = texts.filter((text) => numbersNamed(text).includes(n)).map((text) => text.slice(0, 300));
  return { journal: traceOf(home, n), tape: linesOf(home, n), seen };
}

/** The numbers in the file that commands appended to, in order. */
export function effectLines(home: string): readonly string[] {
  const file = join(home, 'workspace', 'effects.txt');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

function textsOf(telegram: FakeTelegram): readonly string[] {
  return telegram.sentMessages.map(({ visibleText }) => visibleText);
}

/** The numbers that people read anything of. */
function named(telegram: FakeTelegram): ReadonlySet<number> {
  return new Set(textsOf(telegram).flatMap(numbersNamed));
}

function progress(telegram: FakeTelegram, modelCalls: number): number {
  return telegram.sentMessages.length + modelCalls;
}
