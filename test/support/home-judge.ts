import { isMarked, judgeEffects, judgeTexts, type EffectVerdict, type Verdict } from './crash-judge.ts';
import { effectLines } from './crash-run.ts';
import { linesOf, readLedger, textsOfTurns, traceOf } from './crash-steps.ts';
import { answered, asksFor, gaveUp, numbersNamed, numbersWritten } from './crash-talk.ts';
import type { Change } from './home-history.ts';
import type { StormHome } from './home-platforms.ts';
import type { Asked } from './home-talk.ts';

/** An effect of a command outside of the home. */
export interface Effect {
  readonly n: number;
  /** When the command began, ms since 1970. */
  readonly at: number;
  /** In which folder. */
  readonly folder: string;
}

/** What came of a home. */
export interface HomeVerdict extends Verdict, EffectVerdict {
  /** Answers without a mark that came before one to an earlier message of the chat. */
  readonly disordered: readonly string[];
  /** What a gateway sent, or began by a tool, after it had given the home back or another one had claimed it. */
  readonly lateSends: readonly string[];
  readonly lateEffects: readonly string[];
  /** What commands wrote to the workspace and is not in it any more, although their results were kept. */
  readonly forgottenFiles: readonly string[];
  /** What is known of messages that were lost or whose effect is missing, as JSON. */
  readonly traces: readonly string[];
}

export interface HomeEvidence {
  readonly home: StormHome;
  /** All that was written to it. */
  readonly asked: readonly Asked[];
  /** All of it, oldest first. */
  readonly changes: readonly Change[];
  /** What the owners after each claim found unsettled. */
  readonly unsettled: { readonly texts: readonly string[]; readonly turns: readonly string[] };
  /** The folder of the gateway that ran it last, and the folders of all by their names. */
  readonly last: string;
  readonly copies: ReadonlyMap<string, string>;
  readonly effects: readonly Effect[];
}

/** Of how many messages of a home that are missing all is said that is known. */
const TRACED = 5;

/** Judges what people saw, what commands did and what PostgreSQL noted. No gateway may run any more. */
export function judgeHome({ home, asked, changes, unsettled, last, copies, effects }: HomeEvidence): HomeVerdict {
  const texts = home.texts().map(({ text }) => text);
  const { told, interruptedWork } = readLedger(last);
  const uncertain = home.canTell ? [] : [...unsettled.texts, ...textsOfTurns(last, unsettled.turns)];
  const numbers = asked.map(({ n }) => n);
  const done = effects.map(({ n }) => String(n));
  const interrupted = interruptedWork.flatMap(numbersWritten).map(String);
  const givenUp = texts.filter((text) => gaveUp(text).length > 0).flatMap(numbersNamed);
  // An answer names the commands that a gateway ended when it might no longer have the home.
  const named = texts.flatMap(numbersWritten).map(String);
  const explained = [...givenUp.map(String), ...interrupted, ...named];
  const kept = new Set(effectLines(last));
  const isLate = (name: string, at: number): boolean => {
    const change = changes.findLast((one) => one.at < at);
    return change !== undefined && (change.by !== name || change.kind === 'released');
  };
  const nameOf = (folder: string): string | undefined =>
    [...copies].find(([, copy]) => folder.startsWith(`${copy}/`))?.[0];
  const verdict = judgeTexts({ asked: numbers.flatMap(asksFor), texts, answered, gaveUp, told, uncertain });
  const effect = judgeEffects({ asked: numbers.map(String), done, explained });
  const missing = [...verdict.lost.map((name) => Number(name.split(' ')[1])), ...effect.missingEffects.map(Number)];
  return {
    ...verdict,
    ...effect,
    traces: missing.slice(0, TRACED).map((n) =>
      JSON.stringify({
        n,
        journal: traceOf(last, n),
        tape: linesOf(last, n),
        seen: texts.filter((text) => numbersNamed(text).includes(n)).map((text) => text.slice(0, 300)),
      }),
    ),
    disordered: Array.from({ length: home.people }, (_, person) => disorderIn(home, person)).flat(),
    lateSends: home
      .sends()
      .filter(({ from, at }) => isLate(from, at))
      .map(({ from, at, what }) => `${at} ${from} ${what.slice(0, 80)}`),
    lateEffects: effects
      .filter(({ folder, at }) => isLate(nameOf(folder) ?? '', at))
      .map(({ n, at, folder }) => `${n} ${at} ${folder}`),
    forgottenFiles: done.filter((n) => !kept.has(n) && !explained.includes(n)),
  };
}

/** Answers without a mark that stand after one to a later message. */
function disorderIn(home: StormHome, person: number): readonly string[] {
  const names = home
    .texts()
    .filter((one) => one.person === person && !isMarked(one.text))
    .flatMap(({ text }) => answered(text))
    .filter((name) => name.startsWith('answer'));
  let highest = 0;
  return names.filter((name) => {
    const number = Number(name.split(' ')[1]);
    highest = Math.max(highest, number);
    return number < highest;
  });
}
