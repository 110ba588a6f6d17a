import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serversOf } from '../../src/host/homes/servers.ts';
import { builtProgram } from './built-program.ts';
import { numbersNamed } from './crash-talk.ts';
import type { HomeGateway } from './home-gateways.ts';
import type { HomeHistory } from './home-history.ts';
import type { PlatformCall, StormHome } from './home-platforms.ts';
import { homeStorm, type HomeStormPlan, type HomeStormReport } from './home-storm.ts';
import type { HomeTalk } from './home-talk.ts';
import { startPair, type Pair } from './postgres-pair.ts';
import { waitFor } from './wait.ts';

const run = promisify(execFile);

/**
 * `ended`: the server is not there, and is started again; `frozen`: all its processes stand still; `cut`: no gateway gets a
 * connection to it; `cut from some`: those that run homes get none, and the others do.
 */
export type Outage = 'ended' | 'frozen' | 'cut' | 'cut from some';

export interface OutagePlan extends Pick<HomeStormPlan, 'homes' | 'gateways' | 'people' | 'everyMs' | 'leaseSeconds'> {
  /** Where the programs of PostgreSQL are. */
  readonly programs: string;
  readonly outage: Outage;
  readonly downMs: number;
}

/** What a gateway says of itself to `assistant status` and at /health. */
interface Said {
  readonly name: string;
  /** Whether it ran homes when the outage began. */
  readonly ran: boolean;
  readonly warnings: readonly string[];
  readonly waiting: string | null;
  readonly health: { readonly status: number; readonly text: string };
}

/** What is known of an outage when all is over. */
export interface OutageReport {
  readonly storm: HomeStormReport;
  /** Messages that people wrote meanwhile, and those of them that were answered. */
  readonly asked: number;
  readonly answered: number;
  /** How often a platform had less to tell than before, which is an acknowledgement. */
  readonly acknowledged: number;
  /** What people were sent meanwhile, without the notices: messages, edits and reactions. */
  readonly sent: readonly string[];
  /** Commands that began meanwhile. */
  readonly begun: readonly number[];
  /** What was said at the end of the outage. */
  readonly said: readonly Said[];
  /** Whom the owners were told by and what: that it began, and that it was over, as `home person: text`. */
  readonly notices: readonly string[];
  readonly allClear: readonly string[];
  /** How often each reminder that became due meanwhile came. */
  readonly reminders: readonly number[];
  /** How often it came while the database was away. */
  readonly earlyReminders: number;
  /** From the end of the outage until something of any home was seen again, ms. */
  readonly firstSignMs: number;
  /** From the end of the outage to the first and to the last answer to what was asked meanwhile, ms. */
  readonly firstAnswerMs: number;
  readonly lastAnswerMs: number;
  /** Which gateways ended or were ready more than once. */
  readonly flapped: readonly string[];
  /** By how much the memory of a gateway grew in the second half, MB; the most. */
  readonly grownMb: number;
}

/** What was accepted or begun right before may be acknowledged, sent or run for so long afterwards, ms. */
const BEGINNING_MS = 1_000;
/** It is said that it is over when it was for some seconds, which a probe in growing intervals finds out. */
const ALL_CLEAR_MS = 20_000;
const NOTICE = /^⚠ .*database/su;
const ALL_CLEAR = /can be written again, after/u;

/** The database of some homes is away for `downMs` while people write; counts when all is answered. */
export async function homeOutage({ programs, outage, downMs, ...plan }: OutagePlan): Promise<OutageReport> {
  await using pair = await startPair(programs);
  const url = serversOf(await pair.database())[0] ?? '';
  const slow = new Map<number, number>();
  let watched: Watched | undefined;
  let all: readonly StormHome[] = [];
  const storm = await homeStorm({
    ...plan,
    url,
    outstanding: 1_000,
    slow,
    seed: 1,
    faults: 0,
    awayMs: 0,
    betweenMs: 0,
    afterwards: async (homes, gateways, { talk, history, hasBegun }) => {
      all = homes;
      const watch = new Watch({ homes, gateways, talk, history, downMs });
      await watch.prepare((n) => {
        slow.set(n, Math.min(downMs / 2_000, 30));
        return waitFor(() => hasBegun(n), { what: 'the slow command' });
      });
      watched = await watch.during(...whatHappens(outage, pair, gateways, await watch.running()));
    },
  });
  if (watched === undefined) throw new Error('the database was not away');
  const { began, back, reminded, ...rest } = watched;
  const asked = storm.asked.filter(({ at }) => at > began && at < back);
  const sends = all.flatMap((home) => home.sends().map((call) => ({ ...call, home: home.name })));
  const meanwhile = ({ at }: { readonly at: number }): boolean =>
    at > began + BEGINNING_MS && at < back && outage !== 'cut from some';
  const earlier = new Set(storm.asked.filter(({ at }) => at < began).map(({ home, message }) => `${home} ${message}`));
  /** What was accepted before may still show that it is worked on. */
  const isKnown = ({ home, reactsTo }: PlatformCall & { readonly home: string }): boolean =>
    reactsTo !== undefined && earlier.has(`${home} ${reactsTo}`);
  const answers = asked.flatMap(({ n, home }) => {
    const first = sends.find((one) => one.home === home && one.at > began && isAnswer(one, n));
    return first === undefined ? [] : [first.at - back];
  });
  const texts = all.flatMap((home) => home.texts().map(({ person, text }) => ({ home: home.name, person, text })));
  const told = (pattern: RegExp): readonly string[] =>
    texts.filter(({ text }) => pattern.test(text)).map(({ home, person, text }) => `${home} ${person}: ${text}`);
  return {
    ...rest,
    storm,
    asked: asked.length,
    answered: answers.length,
    sent: sends
      .filter((one) => meanwhile(one) && isSeen(one) && !isKnown(one) && !one.what.includes('⚠'))
      .map(({ at, from, what }) => `${at - began} ${from} ${what.slice(0, 120)}`),
    begun: storm.effects.filter(meanwhile).map(({ n }) => n),
    notices: told(NOTICE),
    allClear: told(ALL_CLEAR),
    reminders: reminded.map((text) => texts.filter((one) => one.text.includes(text)).length),
    earlyReminders: sends.filter((one) => meanwhile(one) && reminded.some((text) => one.what.includes(text))).length,
    firstSignMs: Math.round(Math.min(...sends.filter(({ at }) => at > back).map(({ at }) => at - back))),
    firstAnswerMs: Math.round(Math.min(...answers)),
    lastAnswerMs: Math.round(Math.max(...answers)),
  };
}

/** The figures of a report, in a line for people. */
export function figuresOf(report: OutageReport): string {
  const { storm, asked, acknowledged, sent, begun, answered, notices, allClear } = report;
  const { firstSignMs, firstAnswerMs, lastAnswerMs } = report;
  return (
    `${storm.messages} messages, ${asked} of them while it was away: ${acknowledged} acknowledged, ${sent.length} sent, ` +
    `${begun.length} begun meanwhile; ${answered} answered after, ${storm.doubled.length} doubled, ${storm.marks} marked; ` +
    `${notices.length} notices, ${allClear.length} all-clear, reminders ${report.reminders.join(' ')}; ` +
    `first sign ${firstSignMs} ms, first answer ${firstAnswerMs} ms and last ${lastAnswerMs} ms after it was back, ${storm.takeovers} takeovers, ${storm.handovers} handovers, ` +
    `${report.grownMb} MB more`
  );
}

const isAnswer = ({ what }: PlatformCall, n: number): boolean => numbersNamed(what).includes(n);
/** A sign that the assistant writes says nothing of a message; everything else would say that it was taken. */
const isSeen = ({ what }: PlatformCall): boolean =>
  !/^sendChatAction|\/typing|^assistant\.threads\.setStatus/u.test(what);

function whatHappens(
  outage: Outage,
  pair: Pair,
  gateways: readonly HomeGateway[],
  running: ReadonlySet<string>,
): readonly [() => Promise<void>, () => Promise<void>] {
  if (outage === 'ended') return [() => pair.kill(), () => pair.restart()];
  if (outage === 'frozen') return [() => pair.freeze(), () => pair.thaw()];
  const cut = gateways.filter(({ name }) => outage === 'cut' || running.has(name));
  // Of a machine that takes over what another one had, one is enough to be cut off.
  const those = outage === 'cut from some' && cut.length === gateways.length ? cut.slice(0, 1) : cut;
  return [
    async () => those.forEach(({ proxy }) => proxy.cut()),
    async () => those.forEach(({ proxy }) => proxy.mend()),
  ];
}

interface Watched extends Pick<OutageReport, 'acknowledged' | 'said' | 'flapped' | 'grownMb'> {
  /** ms since 1970. */
  readonly began: number;
  readonly back: number;
  /** Texts of the reminders. */
  readonly reminded: readonly string[];
}

interface WatchPorts {
  readonly homes: readonly StormHome[];
  readonly gateways: readonly HomeGateway[];
  readonly talk: HomeTalk;
  readonly history: HomeHistory;
  readonly downMs: number;
}

/** Looks at homes and gateways while their database is away. */
class Watch {
  readonly #ports: WatchPorts;
  readonly #reminded: string[] = [];

  constructor(ports: WatchPorts) {
    this.#ports = ports;
  }

  /** Names of the gateways that run homes. */
  async running(): Promise<ReadonlySet<string>> {
    return new Set((await this.#ports.history.holders()).values());
  }

  /** Each home has a reminder that is due in the middle of the outage, and runs a command that takes until then. */
  async prepare(begins: (n: number) => Promise<unknown>): Promise<void> {
    const { homes, gateways, talk, history, downMs } = this.#ports;
    const holders = await history.holders();
    const dueAt = new Date(Date.now() + PREPARED_MS + downMs / 2);
    await Promise.all(
      homes.map(async (home) => {
        const gateway = gateways.find(({ name }) => name === holders.get(home.name));
        if (gateway === undefined) throw new Error(`nobody runs ${home.name}`);
        const text = `remember ${home.name}`;
        this.#reminded.push(text);
        await assistant(
          gateway,
          gateway.copyOf(home.name),
          'cron',
          'add',
          dueAt.toISOString(),
          text,
          '--kind',
          'message',
        );
      }),
    );
    await waitFor(() => Date.now() > dueAt.getTime() - downMs / 2 - COMMANDS_MS, { timeoutMs: 2 * PREPARED_MS });
    await Promise.all(homes.map((home) => begins(talk.say(home, 0))));
  }

  async during(begin: () => Promise<void>, end: () => Promise<void>): Promise<Watched> {
    const { homes, gateways, downMs } = this.#ports;
    const ran = await this.running();
    const pids = gateways.map(({ pid }) => pid ?? 0);
    const starts = gateways.map(readyIn);
    await begin();
    const began = Date.now();
    const open = homes.map(() => 0);
    let acknowledged = 0;
    let half: readonly number[] | undefined;
    await waitFor(
      async () => {
        const passed = Date.now() - began;
        if (passed > BEGINNING_MS)
          homes.forEach((home, n) => {
            const now = home.open();
            acknowledged += Math.max(0, (open[n] ?? 0) - now);
            open[n] = now;
          });
        if (half === undefined && passed > downMs / 2) half = await Promise.all(pids.map(residentMb));
        return passed > downMs;
      },
      { timeoutMs: 2 * downMs },
    );
    const grown = await Promise.all(pids.map(async (pid, n) => (await residentMb(pid)) - (half?.[n] ?? 0)));
    const said = await Promise.all(gateways.map((one) => ask(one, ran.has(one.name))));
    const back = Date.now();
    await end();
    const told = (pattern: RegExp): number =>
      homes.reduce((sum, home) => sum + home.texts().filter(({ text }) => pattern.test(text)).length, 0);
    // Until it is said that it is over, unless another gateway took the home, which says nothing of it.
    const late = Date.now() + ALL_CLEAR_MS;
    const isTold = (): boolean => Date.now() > late || told(ALL_CLEAR) >= told(NOTICE);
    await waitFor(() => isTold() && homes.every((home) => home.open() === 0), { timeoutMs: 180_000 });
    const flapped = gateways.filter((one, n) => readyIn(one) > (starts[n] ?? 0) + 1 || one.pid !== pids[n]);
    return {
      began,
      back,
      acknowledged,
      said,
      reminded: this.#reminded,
      flapped: flapped.map(({ name }) => name),
      grownMb: Math.max(...grown),
    };
  }
}

/** From the reminders' making to the beginning of the outage, of which the last part is for slow commands to begin; ms. */
const PREPARED_MS = 8_000;
const COMMANDS_MS = 2_000;

const readyIn = ({ log }: HomeGateway): number => log.split('"msg":"ready"').length - 1;

async function assistant(gateway: HomeGateway, home: string, ...words: readonly string[]): Promise<string> {
  const program = await builtProgram();
  const env = program.environment({ HOME: join(gateway.folder, '..'), STORM_GATEWAY: gateway.name });
  const { stdout } = await run(process.execPath, [program.main, '--home', home, ...words], { env });
  return stdout;
}

interface Info {
  readonly http: string;
  readonly warnings: readonly string[];
  readonly waiting?: string;
}

async function ask(gateway: HomeGateway, ran: boolean): Promise<Said> {
  const stdout = await assistant(gateway, gateway.folder, 'status', '--json').catch(
    (error: unknown) => (error as { readonly stdout: string }).stdout,
  );
  const { http, warnings, waiting = null } = JSON.parse(stdout) as Info;
  const answer = await fetch(`${http}/health`);
  return { name: gateway.name, ran, warnings, waiting, health: { status: answer.status, text: await answer.text() } };
}

async function residentMb(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Math.round(Number(/VmRSS:\s+(\d+)/u.exec(text)?.[1] ?? 0) / 1_024);
}
