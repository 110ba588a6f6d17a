import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAssistant, type Assistant } from '../../src/app.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import type { AssistantInfo } from '../../src/core/gateway/assistant-info.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { systemClock, type Clock } from '../../src/core/util/clock.ts';
import { silentLog, type Logger } from '../../src/core/util/log.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import type { FakeModel } from '../support/fake-model.ts';
import { startFakeTelegram, type FakeTelegram } from '../support/fake-telegram.ts';
import { HomeGateway } from '../support/home-gateways.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { OWNER } from '../support/world.ts';

/** A home in the database, with a Bot API of its own. */
export interface StoredHome {
  readonly name: string;
  readonly telegram: FakeTelegram;
  /** The key of its model, which no other home has. */
  readonly key: string;
  /** What its bot said, in order. */
  readonly answers: () => readonly string[];
  /** Those of the model, without notices: a database that is busy for as long as a short lease is told of. */
  readonly replies: () => readonly string[];
}

/** A gateway of many homes in a folder of its own. */
export interface Machine {
  readonly folder: string;
  /** Rejects while it does not answer. */
  info(): Promise<AssistantInfo>;
  /** Names of the homes that run there. */
  running(): Promise<readonly string[]>;
  /** Names of the homes that it is handing over. */
  leaving(): Promise<readonly string[]>;
  /** Resolves when exactly this many homes run there, and none starts or leaves. */
  runs(count: number): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** One in this process. */
export interface MachineHere extends Machine {
  readonly assistant: Assistant;
}

/** One in a process of its own, as `assistant gateway` starts it. */
export interface MachineProgram extends Machine {
  readonly gateway: HomeGateway;
}

export interface MachinesWorld extends AsyncDisposable {
  readonly folder: string;
  readonly model: FakeModel;
  readonly homes: readonly StoredHome[];
  home(name: string): StoredHome;
  machine(
    name: string,
    options?: { readonly homes?: object; readonly log?: Logger; readonly clock?: Clock },
  ): Promise<MachineHere>;
  /** Starts it; it need not answer yet. `prepare`: before that, in its folder or its proxy to PostgreSQL. */
  program(name: string, prepare?: (gateway: HomeGateway) => unknown): Promise<MachineProgram>;
  /** Says it in the owner's chat of a home, and resolves when its bot answers `answer`. */
  asks(home: string, text: string, answer: string): Promise<void>;
}

/**
 * A database with homes, as `assistant` made them on other machines. The model answers `re: ` and the text. `settings`: of each home,
 * over the world's.
 */
export async function startMachines(
  store: string,
  names: readonly string[],
  settings: Readonly<Record<string, unknown>> = {},
): Promise<MachinesWorld> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const model = stack.use(await startFakeOpenAi());
  model.setHandler((request) => `re: ${lastText(request.body)}`);
  const environment = { PATH: process.env['PATH'], HOME: join(folder.path, 'person') };
  const homes: StoredHome[] = [];
  for (const name of names) {
    const telegram = stack.use(await startFakeTelegram());
    const key = `key-of-${name}-0123456789`;
    const config = {
      agent: { model: 'openai/scripted-model' },
      providers: { openai: { apiKey: key, baseUrl: model.url } },
      channels: { telegram: { token: telegram.token, apiRoot: telegram.apiRoot, allowFrom: [String(OWNER)] } },
      heartbeat: { enabled: false },
      ...settings,
    };
    const home = join(folder.path, 'first', name);
    await mkdir(home, { recursive: true, mode: 0o700 });
    await writeFile(join(home, 'config.json'), JSON.stringify({ store, ...config }), { mode: 0o600 });
    await using _once = await createAssistant({ home, environment, log: silentLog });
    const answers = (): readonly string[] => telegram.sentMessages.map((sent) => sent.visibleText);
    homes.push({ name, telegram, key, answers, replies: () => answers().filter((text) => text.includes('re: ')) });
  }
  const named = (name: string): StoredHome => {
    const found = homes.find((one) => one.name === name);
    if (found === undefined) throw new Error(`no home ${name}`);
    return found;
  };
  const owned = stack.move();
  return {
    folder: folder.path,
    model,
    homes,
    home: named,
    machine: async (name, { homes: limits = {}, log = silentLog, clock = systemClock } = {}) => {
      const at = join(folder.path, name);
      await mkdir(at, { recursive: true, mode: 0o700 });
      await writeFile(join(at, 'config.json'), JSON.stringify({ store, homes: { enabled: true, ...limits } }));
      const assistant = await createAssistant({ home: at, environment, serve: 'gateway', port: 0, log, clock });
      owned.use(assistant);
      const machine = machineOf(at, async () => await assistant.call('info', {}));
      return { ...machine, assistant, stop: () => assistant.close() };
    },
    program: async (name, prepare) => {
      const [url = '', leaseSeconds = '15'] = store.split('&leaseSeconds=');
      const shared = { folder: folder.path, url, leaseSeconds: Number(leaseSeconds) };
      const gateway = owned.use(await HomeGateway.prepare(name, names, shared));
      const info = async (): Promise<AssistantInfo> => {
        await using assistant = await connectAssistant(homePaths(gateway.folder).socket, systemClock);
        if (assistant === undefined) throw new Error(`${name} does not answer:\n${gateway.log}`);
        return await assistant.call('info', {});
      };
      await prepare?.(gateway);
      await gateway.start();
      return { ...machineOf(gateway.folder, info), gateway, stop: () => gateway.stop() };
    },
    asks: async (name, text, answer) => {
      const { telegram, answers } = named(name);
      telegram.userSays(OWNER, text);
      await waitFor(() => answers().includes(answer), { what: `the answer of ${name}` });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function machineOf(folder: string, info: () => Promise<AssistantInfo>): Omit<Machine, 'stop'> {
  const names = async (...states: readonly string[]): Promise<readonly string[]> =>
    ((await info()).homes ?? []).filter(({ state }) => states.includes(state)).map(({ name }) => name);
  return {
    folder,
    info,
    running: () => names('running'),
    leaving: () => names('leaving'),
    runs: async (count) => {
      const states = async (): Promise<string> => JSON.stringify((await info()).homes);
      return await waitFor(
        async () => {
          const { homes = [] } = await info();
          const here = homes.filter(({ state }) => state === 'running');
          const isMoving = homes.some(({ state }) => state === 'starting' || state === 'leaving');
          return here.length === count && !isMoving ? here.map(({ name }) => name) : undefined;
        },
        { what: `${count} homes in ${folder}` },
      ).catch(async (error: unknown) => {
        throw new Error(`${folder}: ${await states()}`, { cause: error });
      });
    },
  };
}

/** The assistant of a home, through the control socket of its copy. */
export async function connectHome(machine: Machine, name: string): ReturnType<typeof connectAssistant> {
  return await connectAssistant(homePaths(join(machine.folder, 'homes', name)).socket, systemClock);
}

/** What a person said last, by its word `said-…` where it has one. */
export function lastText(body: unknown): string {
  const { messages } = body as { readonly messages: readonly { readonly role: string; readonly content: unknown }[] };
  const { content } = messages.findLast(({ role }) => role === 'user') ?? { content: '' };
  const text =
    typeof content === 'string'
      ? content
      : (content as readonly { readonly text?: string }[]).map((part) => part.text ?? '').join('');
  return /said-\w+/u.exec(text)?.[0] ?? text;
}
