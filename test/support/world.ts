import type { Extension } from '../../src/core/api.ts';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TABLES } from './extensions.ts';
import { createAssistant, type Assistant, type HookSet } from '../../src/app.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { entrySchema, type TapeEntry } from '../../src/core/session/entry.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { openDatabase } from '../../src/core/storage/open-database.ts';
import type { Clock } from '../../src/core/util/clock.ts';
import { silentLog, type Logger } from '../../src/core/util/log.ts';
import { assertNoCanary, MODEL_KEY, STRAY_VARIABLE } from './canaries.ts';
import { startFakeAnthropic } from './fake-anthropic.ts';
import type { FakeModel } from './fake-model.ts';
import { startFakeOllama } from './fake-ollama.ts';
import { startFakeOpenAiResponses } from './fake-openai-responses.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import { startFakeTelegram, type FakeTelegram, type FakeTelegramOptions } from './fake-telegram.ts';
import { tempFolder } from './temp.ts';

export type DialectName = 'openai' | 'anthropic' | 'openai-responses' | 'ollama';

const MODELS = {
  openai: () => startFakeOpenAi(),
  anthropic: () => startFakeAnthropic(),
  'openai-responses': () => startFakeOpenAiResponses(),
  ollama: () => startFakeOllama(),
} satisfies Record<DialectName, () => Promise<FakeModel>>;

export interface WorldOptions {
  readonly dialect?: DialectName;
  /** Settings over the world's own. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly hooks?: readonly HookSet[];
  readonly extensions?: readonly Extension[];
  readonly log?: Logger;
  /** @default the machine's */
  readonly clock?: Clock;
  /** Variables over those of the world. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What /restart does. @default nothing would begin anew */
  readonly onRestart?: () => void;
  readonly server?: FakeTelegramOptions;
  /** Says what the model answers from the first start on, which may resume turns. */
  readonly script?: (model: FakeModel) => void;
  /** Fills the home before the first start. */
  readonly furnish?: (home: string) => Promise<void>;
}

/**
 * A whole assistant in this process, with a Bot API, a model server and a home of its own. Disposing throws when one of
 * its secrets is found in a file, in a request to the model or in a call of the Bot API.
 */
export interface World extends AsyncDisposable {
  readonly home: string;
  readonly workspace: string;
  readonly telegram: FakeTelegram;
  readonly model: FakeModel;
  readonly assistant: Assistant;
  /** What the last start worked on the event loop, milliseconds of processor time. */
  readonly startMs: number;
  /** Stops the assistant and starts another, on the same home if no other is named. */
  restart(home?: string): Promise<Assistant>;
  /** The entries of a session's tape. */
  tape(sessionKey: string): Promise<readonly TapeEntry[]>;
}

/** The person in chat 42, who is the owner. */
export const OWNER = 42;

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const dialect = options.dialect ?? 'openai';
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const telegram = stack.use(await startFakeTelegram(options.server));
  const model = stack.use(await MODELS[dialect]());
  options.script?.(model);
  const provider = dialect === 'openai-responses' ? 'openai' : dialect;
  const wire = dialect === 'openai-responses' ? { wire: 'responses' } : {};
  const home = join(folder.path, 'home');
  const workspace = join(home, 'workspace');
  await mkdir(workspace, { recursive: true, mode: 0o700 });
  await writeFile(
    join(home, 'config.json'),
    JSON.stringify({
      agent: { model: `${provider}/scripted-model` },
      providers: { [provider]: { apiKey: MODEL_KEY, baseUrl: model.url, ...wire } },
      channels: { telegram: { token: telegram.token, apiRoot: telegram.apiRoot, allowFrom: [String(OWNER)] } },
    }),
  );
  await options.furnish?.(home);
  const { state, lock } = homePaths(home);
  await putNewJournal(state);
  // A journal without a lock looks like one whose lock was removed: who has it open would be looked for.
  await writeFile(lock, '', { mode: 0o600 });
  let startMs = 0;
  const start = async (at = home): Promise<Assistant> => {
    const before = process.threadCpuUsage();
    const started = await createAssistant({
      home: at,
      serve: 'gateway',
      port: 0,
      environment: {
        PATH: process.env['PATH'],
        HOME: join(folder.path, 'person'),
        [STRAY_VARIABLE.name]: STRAY_VARIABLE.value,
        ...options.environment,
      },
      log: options.log ?? silentLog,
      hooks: options.hooks ?? [],
      config: options.config ?? {},
      ...(options.clock === undefined ? {} : { clock: options.clock }),
      ...(options.onRestart === undefined ? {} : { onRestart: options.onRestart }),
      ...(options.extensions === undefined ? {} : { extensions: options.extensions }),
    });
    const { user, system } = process.threadCpuUsage(before);
    startMs = (user + system) / 1_000;
    return started;
  };
  stack.defer(() => assertNoCanary({ home, telegram, model }));
  let assistant = await start();
  stack.defer(async () => assistant[Symbol.asyncDispose]());
  const owned = stack.move();
  return {
    home,
    workspace,
    telegram,
    model,
    get assistant() {
      return assistant;
    },
    get startMs() {
      return startMs;
    },
    async restart(at) {
      await assistant[Symbol.asyncDispose]();
      assistant = await start(at);
      return assistant;
    },
    tape: async (sessionKey) => {
      const text = await readFile(join(home, 'sessions', tapeName(sessionKey)), 'utf8');
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => entrySchema.parse(JSON.parse(line)));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

let newJournal: Uint8Array | undefined;

/** A journal as a first start makes it, where there is none. The steps to it take longer than most turns, and are taken once in a process. */
async function putNewJournal(path: string): Promise<void> {
  if (existsSync(path)) return;
  if (newJournal === undefined) {
    (await openDatabase({ path, migrations: journalMigrations, parts: TABLES, backupPath: null })).close();
    newJournal = await readFile(path);
  } else {
    await writeFile(path, newJournal, { mode: 0o600 });
  }
}

/** What people see in a chat, oldest first. */
export function chatOf(world: World, chatId = OWNER): readonly string[] {
  return world.telegram.sentMessages.filter((sent) => sent.chatId === chatId).map((sent) => sent.visibleText);
}
