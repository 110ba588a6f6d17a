import { existsSync, readFileSync } from 'node:fs';
import { isMarked, judgeEffects, judgeTexts, type EffectVerdict, type Verdict } from './crash-judge.ts';
import { CHATS } from './crash-process.ts';
import { effectLines } from './crash-run.ts';
import { readLedger, textsOfTurns } from './crash-steps.ts';
import { answered, asksFor, gaveUp, numbersNamed, numbersWritten } from './crash-talk.ts';
import type { FakeTelegram } from './fake-telegram.ts';
import type { HomeGateway } from './home-gateways.ts';
import type { Claim, HomeHistory } from './home-history.ts';

/** What sends something that people see. */
const SENDS = /^(?:send|edit|setMessageReaction)/u;

/** What came of it. */
export interface HomeVerdict extends Verdict, EffectVerdict {
  /** Answers without a mark that came before one to an earlier message of the chat. */
  readonly disordered: readonly string[];
  /** What a gateway sent, or began by a tool, after another one had claimed the home. */
  readonly lateSends: readonly string[];
  readonly lateEffects: readonly string[];
  /** Writes that PostgreSQL should have refused. */
  readonly wrongWrites: readonly unknown[];
  /** What commands wrote to the workspace and is not in it any more, although their results were kept. */
  readonly forgottenFiles: readonly string[];
  readonly open: number;
  /** From the lease's end to the claim, and to the first message that the next owner sends, ms: the middle one and the longest. */
  readonly claimedMs: readonly [number, number];
  readonly servedMs: readonly [number, number];
}

export interface HomeEvidence {
  readonly telegram: FakeTelegram;
  readonly history: HomeHistory;
  readonly last: HomeGateway;
  readonly gateways: readonly HomeGateway[];
  /** Messages so far, numbered from 1. */
  readonly sent: number;
  /** Those that followed a fault. */
  readonly takeovers: readonly Claim[];
  /** The file outside of the home that commands wrote to. */
  readonly effects: string;
}

/** Judges what people saw, what commands did and what PostgreSQL noted. No gateway may run any more. */
export async function judgeHome(evidence: HomeEvidence): Promise<HomeVerdict> {
  const { telegram, history, last, gateways, sent, effects, takeovers } = evidence;
  const texts = telegram.sentMessages.map(({ visibleText }) => visibleText);
  const { told, open, interruptedWork } = readLedger(last.home);
  const unsettled = await history.unsettled();
  const uncertain = [...unsettled.texts, ...textsOfTurns(last.home, unsettled.turns)];
  const numbers = Array.from({ length: sent }, (_, n) => n + 1);
  const lines = existsSync(effects) ? readFileSync(effects, 'utf8').split('\n').filter(Boolean) : [];
  const done = lines.map((line) => line.split(' '));
  const happened = done.map(([n = '']) => n);
  const interrupted = interruptedWork.flatMap(numbersWritten).map(String);
  const givenUp = texts.filter((text) => gaveUp(text).length > 0).flatMap(numbersNamed);
  const explained = [...givenUp.map(String), ...interrupted];
  const kept = effectLines(last.home);
  const claims = await history.claims();
  const names = await namesOf(gateways);
  const lost = (name: string, at: number): boolean => {
    const claim = claims.findLast((one) => one.at < at);
    return claim !== undefined && names.get(claim.owner) !== name;
  };
  return {
    ...judgeTexts({ asked: numbers.flatMap(asksFor), texts, answered, gaveUp, told, uncertain }),
    ...judgeEffects({
      asked: numbers.map(String),
      done: happened,
      explained,
    }),
    disordered: CHATS.flatMap((chat) => disorderIn(telegram, chat)),
    lateSends: telegram.calls
      .filter(({ method, from, at }) => SENDS.test(method) && lost(from, at))
      .map(({ method, from, at, payload }) => `${at} ${from} ${method} ${String(payload['text']).slice(0, 60)}`),
    lateEffects: done
      .filter(([, at, path]) =>
        gateways.some((one) => path?.startsWith(one.home) === true && lost(one.name, Number(at))),
      )
      .map((words) => words.join(' ')),
    wrongWrites: await history.wrongWrites(),
    forgottenFiles: happened.filter((n) => !kept.includes(n) && !explained.includes(n)),
    open,
    ...timesOf(takeovers, telegram, names),
  };
}

/** Answers without a mark that stand after one to a later message. */
function disorderIn(telegram: FakeTelegram, chatId: number): readonly string[] {
  const names = telegram.sentMessages
    .filter((one) => one.chatId === chatId && !isMarked(one.visibleText))
    .flatMap(({ visibleText }) => answered(visibleText))
    .filter((name) => name.startsWith('answer'));
  const number = (name: string | undefined): number => Number(name?.split(' ')[1] ?? 0);
  return names.filter((name, at) => number(name) < Math.max(0, ...names.slice(0, at).map(number)));
}

function timesOf(
  claims: readonly Claim[],
  telegram: FakeTelegram,
  names: ReadonlyMap<string, string>,
): Pick<HomeVerdict, 'claimedMs' | 'servedMs'> {
  const served = claims.flatMap(({ owner, at, leaseEnd }) => {
    const isFirst = ({ method, from, at: sentAt }: FakeTelegram['calls'][number]): boolean =>
      method === 'sendMessage' && from === names.get(owner) && sentAt > at;
    const call = telegram.calls.find(isFirst);
    return call === undefined ? [] : [call.at - leaseEnd];
  });
  return { claimedMs: spread(claims.map(({ at, leaseEnd }) => at - leaseEnd)), servedMs: spread(served) };
}

/** Those that came before the lease's end, from a gateway that got its own home back, count as none. */
function spread(times: readonly number[]): readonly [number, number] {
  const sorted = times.map((ms) => Math.max(0, Math.round(ms))).toSorted((a, b) => a - b);
  return [sorted[Math.floor(sorted.length / 2)] ?? 0, sorted.at(-1) ?? 0];
}

async function namesOf(gateways: readonly HomeGateway[]): Promise<ReadonlyMap<string, string>> {
  const owners = await Promise.all(gateways.map(async (one) => [(await one.owner()) ?? '', one.name] as const));
  return new Map(owners);
}
