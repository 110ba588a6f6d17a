import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openJournal } from '../../src/core/journal/journal.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { CommandLine } from '../cli/command-line.ts';
import { seeded } from './crash-process.ts';
import { answerAfter } from './crash-talk.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import { FAULTS, HomeFaults, type Fault, type FaultPlan } from './home-faults.ts';
import { HomeGateway } from './home-gateways.ts';
import { HomeHistory } from './home-history.ts';
import { judgeHome, type Effect, type HomeVerdict } from './home-judge.ts';
import { PLATFORMS, type StormHome } from './home-platforms.ts';
import { timesOf, type TakeoverTimes } from './home-takeovers.ts';
import { HomeTalk, type Asked } from './home-talk.ts';
import type { ModelApiRequest, Step } from './model-script.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

export interface HomeStormPlan extends Omit<FaultPlan, 'random'> {
  /** Of an empty database. */
  readonly url: string;
  readonly leaseSeconds: number;
  /** How many homes live on each platform. */
  readonly homes: Readonly<Partial<Record<keyof typeof PLATFORMS, number>>>;
  /** People of each home, and how often each of them writes, ms. */
  readonly people: number;
  readonly everyMs: number;
  /** `machines`: so many gateways of many homes. `pairs`: two gateways of its own for each home. */
  readonly gateways: { readonly machines: number } | 'pairs';
  /** What happens after the faults of the gateways, while people go on writing. */
  readonly afterwards?: (
    homes: readonly StormHome[],
    gateways: readonly HomeGateway[],
    storm: { readonly talk: HomeTalk; readonly history: HomeHistory; readonly hasBegun: (n: number) => boolean },
  ) => Promise<void>;
  /** Messages of a person without an answer at a time. @default 2 */
  readonly outstanding?: number;
  /** The command of some messages, by number, takes so many seconds. */
  readonly slow?: ReadonlyMap<number, number>;
}

export interface HomeStormReport extends HomeVerdict, TakeoverTimes {
  readonly faults: Readonly<Record<Fault, number>>;
  readonly messages: number;
  /** What people asked for, and the commands that were run for it. */
  readonly asked: readonly Asked[];
  readonly effects: readonly Effect[];
  /** Writes that PostgreSQL should have refused. */
  readonly wrongWrites: readonly unknown[];
  /** Messages, turns and replies that have not come to an end, each with its home and state. */
  readonly open: readonly string[];
}

/** A report without the lists of all that was asked and done. */
export function inShort<T extends HomeStormReport>({
  asked: _asked,
  effects: _effects,
  ...rest
}: T): Omit<T, 'asked' | 'effects'> {
  return rest;
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
  open: [],
};

/** Three gateways, and twelve homes on three platforms. */
export const FLEET = {
  homes: { telegram: 4, discord: 4, slack: 4 },
  people: 2,
  everyMs: 3_000,
  gateways: { machines: 3 },
  betweenMs: 2_000,
} as const;

/** Three homes on three platforms, each with two gateways of its own. */
export const PAIRS = {
  homes: { telegram: 1, discord: 1, slack: 1 },
  people: 2,
  everyMs: 1_000,
  gateways: 'pairs',
  betweenMs: 2_000,
} as const;

/**
 * Homes on doubles of the platforms, kept in PostgreSQL and run by gateways that are killed, frozen or cut from it again and again,
 * while people write to all of them. Counts when all is answered.
 */
export async function homeStorm(plan: HomeStormPlan): Promise<HomeStormReport> {
  const random = seeded(plan.seed);
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder()).path;
  const effects = join(folder, 'effects.txt');
  const model = stack.use(await startFakeOpenAi({ handler: (asked) => answer(effects, asked, plan.slow) }));
  const homes: StormHome[] = [];
  for (const [platform, open] of Object.entries(PLATFORMS)) {
    for (let n = 1; n <= (plan.homes[platform as keyof typeof PLATFORMS] ?? 0); n += 1) {
      homes.push(stack.use(await open({ name: `${platform}-${n}`, people: plan.people, random })));
    }
  }
  const settings = (home: StormHome): Readonly<Record<string, unknown>> => ({
    agent: { model: 'openai/scripted-model', contextWindow: 32_000 },
    providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
    channels: home.channels,
    tools: { exec: { mode: 'full' } },
    heartbeat: { enabled: false },
  });
  for (const home of homes) await putHome(join(folder, 'before', home.name), settings(home), plan.url);
  const history = stack.use(await HomeHistory.begin(plan.url));
  const gateways: HomeGateway[] = [];
  for (const { name, runs, config } of gatewaysOf(plan, homes, settings)) {
    gateways.push(stack.use(await HomeGateway.prepare(name, runs, { ...plan, folder, config })));
  }
  for (const one of gateways) {
    await one.start();
    await one.settled();
  }
  using talk = new HomeTalk(homes, { ...plan, random });
  await talk.greet();
  talk.begin();
  const storm = new HomeFaults(gateways, history, { ...plan, random });
  await storm.run();
  await plan.afterwards?.(homes, gateways, { talk, history, hasBegun: (n) => existsSync(begun(effects, n)) });
  talk.end();
  const settled = async (): Promise<boolean> =>
    homes.every((home) => home.open() === 0) && (await history.open()).length === 0;
  await waitFor(settled, { timeoutMs: 180_000, what: 'everything comes to an end' }).catch(() => {});
  // What was lost in a chat is told in front of its next answer.
  talk.sayOnce();
  await delay(1_000);
  await waitFor(settled, { timeoutMs: 180_000, what: 'the last answers' }).catch(() => {});
  // At once: one that stops later would claim the homes of the others and be stopped before it has them.
  await Promise.all(gateways.map((one) => one.stop()));

  const changes = await history.changes();
  const done = readEffects(effects);
  const verdicts = await Promise.all(
    homes.map(async (home) => {
      const may = gateways.filter((one) => one.homes.includes(home.name));
      const copies = new Map(may.map((one) => [one.name, one.copyOf(home.name)]));
      const own = changes.filter((one) => one.home === home.name);
      const asked = talk.asked.filter((one) => one.home === home.name);
      const numbers = new Set(asked.map(({ n }) => n));
      const verdict = judgeHome({
        home,
        asked,
        changes: own,
        unsettled: await history.unsettled(home.name),
        last: copies.get(own.findLast(({ kind }) => kind === 'claimed')?.by ?? '') ?? '',
        copies,
        effects: done.filter(({ n }) => numbers.has(n)),
      });
      return { verdict, name: home.name, changes: own, sends: home.sends(), asked };
    }),
  );
  const count = (kind: Fault): number => storm.hits.filter((hit) => hit.kind === kind).length;
  return {
    faults: Object.fromEntries(FAULTS.map((kind) => [kind, count(kind)])) as Record<Fault, number>,
    messages: talk.asked.length,
    asked: talk.asked,
    effects: done,
    ...together(verdicts),
    ...timesOf(verdicts, storm.hits),
    wrongWrites: await history.wrongWrites(),
    open: await history.open(),
  };
}

/** Is there when the command of a slow message has begun. */
const begun = (effects: string, n: number): string => `${effects}.${n}`;

/** A number is given to a command, then answered; what was said so far is summarized without another word. */
function answer(effects: string, asked: ModelApiRequest, slow?: ReadonlyMap<number, number>): Step {
  if (!asked.view.tools.includes('exec')) return 'They asked for numbers, which were done.';
  // Outside of the home, for what is in it may be taken back with the copy that it is in.
  const command = (n: number): string =>
    `t=$(date +%s%3N); ${slow?.has(n) === true ? `touch ${begun(effects, n)}; ` : ''}sleep ${slow?.get(n) ?? 0.05}; echo ${n} $t $PWD >> ${effects}; echo ${n} >> effects.txt; sleep 0.05`;
  const step = answerAfter(command, asked);
  return typeof step === 'object' && 'text' in step && step.text === '' ? 'Hello.' : step;
}

/** Makes a home in a folder and moves it into the database. */
async function putHome(folder: string, config: Readonly<Record<string, unknown>>, url: string): Promise<void> {
  await mkdir(join(folder, 'workspace'), { recursive: true, mode: 0o700 });
  await writeFile(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const newId = createIds(systemClock, systemRandom);
  const journal = await openJournal({ path: join(folder, 'state.db'), backupPath: null, clock: systemClock, newId });
  journal[Symbol.dispose]();
  const line = new CommandLine({ home: folder, env: { STORM_GATEWAY: 'none' } });
  const code = await line.run('store', 'migrate', '--to', url);
  if (code !== 0) throw new Error(`the home in ${folder} was not moved: ${line.out} ${line.err}`);
}

function gatewaysOf(
  { gateways }: HomeStormPlan,
  homes: readonly StormHome[],
  settings: (home: StormHome) => Readonly<Record<string, unknown>>,
): readonly {
  readonly name: string;
  readonly runs: readonly string[];
  readonly config?: Readonly<Record<string, unknown>>;
}[] {
  if (gateways !== 'pairs') {
    const runs = homes.map(({ name }) => name);
    return Array.from({ length: gateways.machines }, (_, n) => ({ name: `gateway-${n + 1}`, runs }));
  }
  return homes.flatMap((home) =>
    ['a', 'b'].map((name) => ({ name: `${home.name}-${name}`, runs: [home.name], config: settings(home) })),
  );
}

function readEffects(path: string): readonly Effect[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  return lines.map((line) => {
    const [n, at, ...rest] = line.split(' ');
    return { n: Number(n), at: Number(at), folder: rest.join(' ') };
  });
}

/** Lists of all homes after each other, with their names; sums of what is counted. */
function together(homes: readonly { readonly name: string; readonly verdict: HomeVerdict }[]): HomeVerdict {
  const list = (key: keyof HomeVerdict): string[] =>
    homes.flatMap(({ name, verdict }) => [verdict[key]].flat().map((one) => `${name}: ${one}`));
  const sum = (key: 'answered' | 'marks' | 'gaveUp'): number =>
    homes.reduce((total, { verdict }) => total + verdict[key], 0);
  return {
    lost: list('lost'),
    doubled: list('doubled'),
    tripled: list('tripled'),
    wrongMarks: list('wrongMarks'),
    repeatedEffects: list('repeatedEffects'),
    missingEffects: list('missingEffects'),
    disordered: list('disordered'),
    lateSends: list('lateSends'),
    lateEffects: list('lateEffects'),
    forgottenFiles: list('forgottenFiles'),
    traces: list('traces'),
    answered: sum('answered'),
    marks: sum('marks'),
    gaveUp: sum('gaveUp'),
  };
}
