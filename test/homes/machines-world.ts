import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAssistant, type Assistant } from '../../src/app.ts';
import { connectAssistant } from '../../src/gateway/control.ts';
import { homePaths } from '../../src/config/home.ts';
import { systemClock } from '../../src/util/clock.ts';
import { silentLog, type Logger } from '../../src/util/log.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import type { FakeModel } from '../support/fake-model.ts';
import { startFakeTelegram, type FakeTelegram } from '../support/fake-telegram.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { OWNER } from '../support/world.ts';

/** A home in the database, with a Bot API of its own. */
export interface StoredHome {
  readonly name: string;
  readonly telegram: FakeTelegram;
  /** The key of its model, which no other home has. */
  readonly key: string;
  /** Its settings, without those of others. */
  readonly config: Readonly<Record<string, unknown>>;
  /** What its bot said, in order. */
  readonly answers: () => readonly string[];
}

/** A gateway of many homes in a folder of its own. */
export interface Machine {
  readonly folder: string;
  readonly assistant: Assistant;
  /** Names of the homes that run there. */
  running(): Promise<readonly string[]>;
  /** Resolves when exactly this many homes run there, and none starts or leaves. */
  runs(count: number): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export interface MachinesWorld extends AsyncDisposable {
  readonly folder: string;
  readonly model: FakeModel;
  readonly homes: readonly StoredHome[];
  home(name: string): StoredHome;
  machine(name: string, options?: { readonly homes?: object; readonly log?: Logger }): Promise<Machine>;
  /** Says it in the owner's chat of a home, and resolves when its bot answers `answer`. */
  asks(home: string, text: string, answer: string): Promise<void>;
}

/** A database with homes, as `assistant` made them on other machines. The model answers `re: ` and the text. */
export async function startMachines(store: string, names: readonly string[]): Promise<MachinesWorld> {
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
    };
    const home = join(folder.path, 'first', name);
    await mkdir(home, { recursive: true, mode: 0o700 });
    await writeFile(join(home, 'config.json'), JSON.stringify({ store, ...config }), { mode: 0o600 });
    await using _once = await createAssistant({ home, environment, log: silentLog });
    homes.push({ name, telegram, key, config, answers: () => telegram.sentMessages.map((sent) => sent.visibleText) });
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
    machine: async (name, { homes: settings = {}, log = silentLog } = {}) => {
      const at = join(folder.path, name);
      await mkdir(at, { recursive: true, mode: 0o700 });
      await writeFile(join(at, 'config.json'), JSON.stringify({ store, homes: { enabled: true, ...settings } }));
      for (const one of homes) {
        const copy = join(at, 'homes', one.name);
        await mkdir(copy, { recursive: true, mode: 0o700 });
        await writeFile(join(copy, 'config.json'), JSON.stringify(one.config), { mode: 0o600, flag: 'wx' }).catch(
          () => {},
        );
      }
      const assistant = await createAssistant({ home: at, environment, serve: 'gateway', port: 0, log });
      owned.use(assistant);
      const inState = async (): Promise<{ running: string[]; moving: string[] }> => {
        const { homes: here = [] } = await assistant.info();
        const of = (...states: readonly string[]): string[] =>
          here.filter(({ state }) => states.includes(state)).map((one) => one.name);
        return { running: of('running'), moving: of('starting', 'leaving') };
      };
      return {
        folder: at,
        assistant,
        running: async () => (await inState()).running,
        runs: async (count) => {
          await waitFor(
            async () => {
              const { running, moving } = await inState();
              return running.length === count && moving.length === 0;
            },
            { what: `${count} homes on ${name}` },
          ).catch(async (error: unknown) => {
            throw new Error(`${name}: ${JSON.stringify((await assistant.info()).homes)}`, { cause: error });
          });
          return (await inState()).running;
        },
        stop: () => assistant.close(),
      };
    },
    asks: async (name, text, answer) => {
      const { telegram, answers } = named(name);
      telegram.userSays(OWNER, text);
      await waitFor(() => answers().includes(answer), { what: `the answer of ${name}` });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The assistant of a home, through the control socket of its copy. */
export async function connectHome(machine: Machine, name: string): ReturnType<typeof connectAssistant> {
  return await connectAssistant(homePaths(join(machine.folder, 'homes', name)).socket, systemClock);
}

function lastText(body: unknown): string {
  const { messages } = body as { readonly messages: readonly { readonly role: string; readonly content: unknown }[] };
  const { content } = messages.findLast(({ role }) => role === 'user') ?? { content: '' };
  const text =
    typeof content === 'string'
      ? content
      : (content as readonly { readonly text?: string }[]).map((part) => part.text ?? '').join('');
  return /said-\w+/u.exec(text)?.[0] ?? text;
}
