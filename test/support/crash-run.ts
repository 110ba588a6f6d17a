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
  stopSoftly,
} from './crash-process.ts';
import { inspectWreck, readLedger, STEPS, traceOf, type CrashStep } from './crash-steps.ts';
import { startFakeAnthropic } from './fake-anthropic.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import { startFakeTelegram, type FakeTelegram } from './fake-telegram.ts';
import type { ModelApiRequest, Step } from './model-script.ts';
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

export interface CrashReport {
  readonly kills: number;
  /** Kills with a turn or a send in flight. */
  readonly inside: number;
  readonly histogram: Readonly<Record<CrashStep, number>>;
  readonly messages: number;
  readonly answered: number;
  /** Messages that got neither an answer nor a notice. */
  readonly lost: readonly number[];
  /** What the journal says of them. */
  readonly traces: readonly unknown[];
  /** Messages answered twice without the mark of an uncertain resend. */
  readonly doubled: readonly number[];
  /** Resends that were marked although nothing was being sent when the process died. */
  readonly wrongMarks: readonly string[];
  readonly marks: number;
  /** Effects that happened more than once. */
  readonly repeatedEffects: readonly number[];
  /** Effects that are missing although neither a dead letter nor an interrupted call tells why. */
  readonly missingEffects: readonly number[];
  readonly interruptedNotices: number;
  /** Calls whose outcome nobody knows, by the tapes. */
  readonly interruptedCalls: number;
  /** Of these, the ones that no notice tells of; a notice has the id of its call, so there is never a second. */
  readonly unannounced: readonly string[];
  readonly deadLetters: number;
}

/** What a report says when nothing was lost, doubled or marked without reason. */
export const UNHARMED = {
  lost: [],
  doubled: [],
  wrongMarks: [],
  repeatedEffects: [],
  missingEffects: [],
  unannounced: [],
};

const OUTSTANDING = 8;
/** A start and what it takes up take about so long. */
const RECOVERY_MS = 900;

/** Kills the assistant at random instants while numbered messages stream in, then lets it finish and counts. */
export async function crashRun(plan: CrashPlan): Promise<CrashReport> {
  const random = seeded(plan.seed);
  await using folder = await tempFolder();
  await using telegram = await startFakeTelegram();
  await using model = await (plan.dialect === 'openai' ? startFakeOpenAi : startFakeAnthropic)({
    handler: answerNumbers,
  });
  await using machine = await Machine.with(join(folder.path, 'home'), { isCut: plan.power === true, random });
  await prepareHome(machine.home, telegram, model.url, plan.dialect);
  const effectsFile = (): string => join(machine.home, 'workspace', 'effects.txt');
  slowSends(telegram, random);

  let sent = 0;
  const sendMore = (): void => {
    while (sent - distinctAnswered(telegram).size < OUTSTANDING) {
      sent += 1;
      telegram.userSays(CHATS[sent % CHATS.length] ?? 0, `please do number ${sent}`);
    }
  };
  const histogram = Object.fromEntries(STEPS.map((step) => [step, 0])) as Record<CrashStep, number>;
  const uncertain: string[] = [];
  let inside = 0;
  /** What was in flight when a process ended; notes which parts may have been sent. */
  const examine = (modelBusy: boolean): readonly CrashStep[] => {
    const effects = effectLines(effectsFile());
    const wreck = inspectWreck(machine.home, {
      modelBusy,
      happened: (command) => numbersIn(command, /echo (?<n>\d+)/gu).some((n) => effects.includes(n)),
    });
    uncertain.push(...wreck.sending);
    return wreck.steps;
  };

  for (let kill = 0; kill < plan.kills; kill += 1) {
    sendMore();
    const before = progress(telegram, model.requests.length);
    const child = await startChild(machine.home, await machine.options());
    await waitFor(() => progress(telegram, model.requests.length) > before, { timeoutMs: 30_000, what: 'progress' });
    const end = performance.now() + random() * 700;
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
    for (let again = 0; again < (plan.during ?? 0); again += 1) {
      const recovering = await spawnChild(machine.home, await machine.options());
      await delay(random() * RECOVERY_MS);
      await killHard(recovering);
      examine(false);
    }
  }

  const child = await startChild(machine.home, await machine.options());
  const settled = (): boolean => distinctAnswered(telegram).size >= sent;
  await waitFor(settled, { timeoutMs: 60_000, what: 'every message is answered' }).catch(() => {});
  await stopSoftly(child);
  const ledger = readLedger(machine.home);
  const report = judge({
    telegram,
    interrupted: ledger.interruptedWork.flatMap((command) => numbersIn(command, /echo (?<n>\d+)/gu)),
    sent,
    effects: effectLines(effectsFile()),
    uncertain,
    histogram,
    inside,
    kills: plan.kills,
  });
  return {
    ...report,
    traces: report.lost.map((n) => traceOf(machine.home, n)),
    interruptedCalls: ledger.interruptedCalls.length,
    unannounced: ledger.interruptedCalls.filter((id) => !ledger.notices.includes(id)),
  };
}

/** Each number is first written to a file by a command, then answered. */
export function answerNumbers({ body }: ModelApiRequest): Step {
  const messages = body['messages'] as readonly { role: string; content: unknown; tool_calls?: unknown }[];
  const open = messages.slice(lastAnswer(messages) + 1);
  const text = JSON.stringify(open);
  const asked = numbersIn(text, /please do number (?<n>\d+)/gu);
  const called = numbersIn(text, /echo (?<n>\d+) >>/gu);
  const calls = asked.filter((n) => !called.includes(n));
  if (calls.length > 0) {
    return {
      delayMs: 15,
      calls: calls.map((n) => ({
        name: 'exec',
        arguments: { command: `echo ${n} >> effects.txt; sync effects.txt; sleep 0.02` },
      })),
    };
  }
  return { delayMs: 15, eventDelayMs: 2, text: asked.map((n) => `answer ${n}.`).join(' ') };
}

/** The last assistant message that called nothing: everything before it is answered. */
function lastAnswer(messages: readonly { role: string; content: unknown; tool_calls?: unknown }[]): number {
  return messages.findLastIndex(
    ({ role, content, tool_calls }) =>
      role === 'assistant' && tool_calls === undefined && !JSON.stringify(content).includes('"tool_use"'),
  );
}

function numbersIn(text: string, pattern: RegExp): number[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => Number(match.groups?.['n'])))];
}

/** The numbers in the file that commands appended to, in order. */
function effectLines(file: string): number[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
}

function answersOf(telegram: FakeTelegram): { readonly text: string; readonly numbers: readonly number[] }[] {
  return telegram.sentMessages.map(({ visibleText }) => ({
    text: visibleText,
    numbers: numbersIn(visibleText, /answer (?<n>\d+)\./gu),
  }));
}

function gaveUp(telegram: FakeTelegram): number[] {
  return telegram.sentMessages
    .filter(({ visibleText }) => visibleText.includes('gave up on it'))
    .flatMap(({ visibleText }) => numbersIn(visibleText, /number (?<n>\d+)/gu));
}

function distinctAnswered(telegram: FakeTelegram): Set<number> {
  return new Set([...answersOf(telegram).flatMap(({ numbers }) => numbers), ...gaveUp(telegram)]);
}

function progress(telegram: FakeTelegram, modelCalls: number): number {
  return telegram.sentMessages.length + modelCalls;
}

function judge(run: {
  telegram: FakeTelegram;
  /** What calls whose outcome nobody knows were to do. */
  interrupted: readonly number[];
  sent: number;
  effects: readonly number[];
  uncertain: readonly string[];
  histogram: Readonly<Record<CrashStep, number>>;
  inside: number;
  kills: number;
}): Omit<CrashReport, 'traces' | 'interruptedCalls' | 'unannounced'> {
  const answers = answersOf(run.telegram);
  const answered = distinctAnswered(run.telegram);
  const all = Array.from({ length: run.sent }, (_, i) => i + 1);
  const marked = run.telegram.sentMessages.filter(({ visibleText }) => visibleText.startsWith('↻'));
  // A notice that an answer may be missing quotes it, which is no second answer.
  const said = answers.filter(({ text }) => !text.startsWith('↻') && !text.includes(' not reach you'));
  const plain = said.flatMap(({ numbers }) => numbers);
  const notices = run.telegram.sentMessages.filter(({ visibleText }) => visibleText.includes('cannot tell whether'));
  const done = run.effects;
  const told = new Set([...done, ...gaveUp(run.telegram), ...run.interrupted]);
  return {
    kills: run.kills,
    inside: run.inside,
    histogram: run.histogram,
    messages: run.sent,
    answered: answered.size,
    lost: all.filter((n) => !answered.has(n)),
    doubled: all.filter((n) => plain.filter((other) => other === n).length > 1),
    wrongMarks: marked
      .map(({ visibleText }) => visibleText)
      .filter((text) => !run.uncertain.some((part) => text.includes(plainText(part)))),
    marks: marked.length,
    repeatedEffects: [...new Set(done.filter((n, i) => done.indexOf(n) !== i))],
    missingEffects: all.filter((n) => !told.has(n)),
    interruptedNotices: notices.length,
    deadLetters: gaveUp(run.telegram).length,
  };
}

function plainText(html: string): string {
  return html.replace(/<[^>]*>/gu, '').trim();
}
