import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CHATS, seeded, slowSends } from './crash-process.ts';
import { answerAfter, numbersNamed, request } from './crash-talk.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import { startFakeTelegram, type FakeTelegram } from './fake-telegram.ts';
import { HomeGateway } from './home-gateways.ts';
import { HomeHistory, type Claim } from './home-history.ts';
import { judgeHome, type HomeVerdict } from './home-judge.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

const FAULTS = ['killed', 'frozen', 'cut'] as const;
type Fault = (typeof FAULTS)[number];

export interface HomeStormPlan {
  /** Of an empty database. */
  readonly url: string;
  readonly faults: number;
  readonly seed: number;
  readonly leaseSeconds: number;
  /** How long a gateway stays frozen or cut, at least: until the other one has the home. */
  readonly awayMs: number;
  /** Told after each fault. */
  readonly onFault?: (line: string) => void;
}

export interface HomeStormReport extends HomeVerdict {
  readonly faults: Readonly<Record<Fault, number>>;
  readonly messages: number;
}

/** What a report says when nothing was lost, doubled, mixed up or done by a gateway that had lost the home. */
export const WEATHERED = {
  lost: [],
  doubled: [],
  tripled: [],
  wrongMarks: [],
  repeatedEffects: [],
  missingEffects: [],
  disordered: [],
  lateSends: [],
  lateEffects: [],
  wrongWrites: [],
  forgottenFiles: [],
  open: 0,
};

/** Messages without an answer at a time. */
const OUTSTANDING = 8;
/** So many of the last messages are looked at. */
const LATEST = 50;
/** The home stays with a gateway for at most so long after something moved. */
const LIFE_MS = 1_200;
/** A gateway that was killed is started again within this time. */
const RESTART_MS = 3_000;

/**
 * Two gateways on folders of their own share a home. The one that runs it is killed, frozen or cut from PostgreSQL again and
 * again, while numbered messages stream in; the other one takes over. Counts when all is answered.
 */
export async function homeStorm(plan: HomeStormPlan): Promise<HomeStormReport> {
  const random = seeded(plan.seed);
  await using folder = await tempFolder();
  await using telegram = await startFakeTelegram();
  const effects = join(folder.path, 'effects.txt');
  // Outside of the home, for what is in it may be taken back with the copy that it is in.
  const command = (n: number): string =>
    `echo ${n} $(date +%s%3N) $PWD >> ${effects}; echo ${n} >> effects.txt; sleep 0.02`;
  await using model = await startFakeOpenAi({ handler: (asked) => answerAfter(command, asked) });
  slowSends(telegram, random);
  const world = { ...plan, folder: folder.path, telegram, model };
  await using first = await HomeGateway.prepare('a', world);
  await using second = await HomeGateway.prepare('b', world);
  await first.start();
  await first.settled();
  await using history = await HomeHistory.begin(plan.url);
  await second.start();
  await second.settled();

  const talk = new Talk(telegram);
  const tally: Record<Fault, number> = { killed: 0, frozen: 0, cut: 0 };
  const claims: Claim[] = [];
  for (let n = 0; n < plan.faults; n += 1) {
    const seen = telegram.sentMessages.length;
    await talk.until(() => telegram.sentMessages.length > seen, 'progress');
    await talk.during(random() * LIFE_MS);
    const holder = await holderOf([first, second], history);
    const epoch = await history.epoch();
    const kind = FAULTS[(n + plan.seed) % FAULTS.length] ?? 'killed';
    tally[kind] += 1;
    const [closes, restartMs] = [random() < 0.5, random() * RESTART_MS];
    const began = performance.now();
    if (kind === 'killed') await holder.kill();
    else if (kind === 'frozen') holder.freeze();
    else holder.cut(closes);
    const taken = (): Promise<unknown> =>
      talk.until(async () => (await history.epoch()) > epoch, `a takeover after ${holder.name} was ${kind}`);
    if (kind === 'killed') {
      await talk.during(restartMs);
      await holder.start();
      await taken();
    } else {
      await taken();
      await talk.during(plan.awayMs - (performance.now() - began));
      if (kind === 'frozen') holder.thaw();
      else holder.proxy.mend();
    }
    await talk.while(holder.settled());
    const claim = (await history.claims()).find((one) => one.epoch === epoch + 1);
    if (claim !== undefined) claims.push(claim);
    const tookMs = claim === undefined ? '?' : Math.round(claim.at - claim.leaseEnd);
    plan.onFault?.(
      `${n + 1}: ${holder.name} ${kind}, claimed ${tookMs} ms after the lease's end, ${talk.sent} messages`,
    );
  }

  const settled = async (): Promise<boolean> => telegram.unconfirmed.length === 0 && (await history.open()) === 0;
  await waitFor(settled, { timeoutMs: 180_000, what: 'everything comes to an end' }).catch(() => {});
  // What was lost in a chat is told in front of its next answer.
  for (const _chat of CHATS) talk.say();
  await waitFor(settled, { timeoutMs: 180_000, what: 'the last answers' }).catch(() => {});
  const last = await holderOf([first, second], history);
  await (last === first ? second : first).stop();
  await last.stop();
  return {
    faults: tally,
    messages: talk.sent,
    ...(await judgeHome({
      telegram,
      history,
      last,
      gateways: [first, second],
      sent: talk.sent,
      takeovers: claims,
      effects,
    })),
  };
}

/** People who write all the time, each after another, with a few messages unanswered. */
class Talk {
  readonly #telegram: FakeTelegram;
  readonly #named = new Set<number>();
  sent = 0;

  constructor(telegram: FakeTelegram) {
    this.#telegram = telegram;
  }

  /** Of the newest messages: an older one was given up, or its answer could not be confirmed, which a notice told. */
  get #unanswered(): number {
    const latest = this.#telegram.sentMessages.slice(-LATEST);
    for (const { visibleText } of latest) for (const n of numbersNamed(visibleText)) this.#named.add(n);
    const newest = Array.from({ length: LATEST }, (_, n) => this.sent - n);
    return newest.filter((n) => n > 0 && !this.#named.has(n)).length;
  }

  say(): void {
    this.sent += 1;
    this.#telegram.userSays(CHATS[this.sent % CHATS.length] ?? 0, request(this.sent));
  }

  async until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
    await waitFor(
      async () => {
        this.#more();
        return await condition();
      },
      { timeoutMs: 120_000, what },
    );
  }

  async during(ms: number): Promise<void> {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      this.#more();
      await delay(Math.min(20, Math.max(0, end - performance.now())));
    }
  }

  async while(work: Promise<void>): Promise<void> {
    const more = setInterval(() => this.#more(), 20);
    try {
      await work;
    } finally {
      clearInterval(more);
    }
  }

  #more(): void {
    while (this.#unanswered < OUTSTANDING) this.say();
  }
}

/** The gateway that has the home; it may still be making its copy. */
async function holderOf(gateways: readonly HomeGateway[], history: HomeHistory): Promise<HomeGateway> {
  return await waitFor(async () => {
    const owner = (await history.claims()).at(-1)?.owner;
    for (const one of gateways) if ((await one.owner()) === owner) return one;
    return undefined;
  });
}
