import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { builtProgram } from './built-program.ts';
import type { FakeModel } from './fake-model.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import type { Step } from './model-script.ts';
import { startFakeTelegram } from './fake-telegram.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

const PERSON = 42;
/** Who may write too. */
export const OTHERS = [43, 44];

/** Where a process kills itself, see dying-child.ts. */
export type DyingStage = 'model' | 'poison' | 'dispatch' | 'reset' | 'anchor' | 'retract' | 'retracted' | 'never';

export const gone = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

/** An assistant in processes of its own, one after another, and its chat. */
export interface DyingHome extends AsyncDisposable {
  readonly chat: () => readonly string[];
  readonly say: (text: string, person?: number) => void;
  readonly folder: string;
  readonly model: FakeModel;
  readonly bodies: () => string;
  readonly reply: (step: Step) => void;
  readonly start: (stage: DyingStage) => ChildProcess;
  readonly accepted: () => boolean;
  /** All that it had to send has arrived, and it wrote that down. */
  readonly delivered: () => boolean;
  /** The machine lost its power, and with it the line of the session's tape that has these words. */
  readonly losePower: (words: string) => Promise<void>;
  /** It asks the platform for messages. */
  readonly polls: () => boolean;
}

export async function startDyingHome(): Promise<DyingHome> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const telegram = stack.use(await startFakeTelegram());
  const model = stack.use(await startFakeOpenAi());
  const program = await builtProgram();
  const env = program.environment();
  const children: ChildProcess[] = [];
  stack.defer(async () => {
    for (const child of children) child.kill('SIGKILL');
    await waitFor(() => children.every(gone));
  });
  await mkdir(join(folder.path, 'workspace'), { recursive: true });
  const config = {
    agent: { model: 'openai/scripted-model' },
    providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
    channels: {
      telegram: {
        token: telegram.token,
        apiRoot: telegram.apiRoot,
        allowFrom: [String(PERSON), ...OTHERS.map(String)],
        owners: [String(PERSON)],
      },
    },
    log: { level: 'error', format: 'json' },
  };
  await writeFile(join(folder.path, 'config.json'), JSON.stringify(config));
  const owned = stack.move();
  return {
    chat: () => telegram.sentMessages.map(({ visibleText }) => visibleText),
    folder: folder.path,
    model,
    say: (text, person = PERSON) => void telegram.userSays(person, text),
    bodies: () => JSON.stringify(model.requests.map(({ body }) => body)),
    reply: (step) => model.reply(step),
    start: (stage) => {
      const child = spawn(process.execPath, [program.child('dying-child'), folder.path, stage], {
        stdio: 'ignore',
        env,
      });
      children.push(child);
      return child;
    },
    polls: () => telegram.polling,
    accepted: () => telegram.unconfirmed.length === 0,
    delivered: () => {
      using db = new DatabaseSync(join(folder.path, 'state.db'), { readOnly: true });
      return db.prepare("SELECT 1 FROM outbound WHERE state <> 'delivered'").get() === undefined;
    },
    losePower: async (words) => {
      const path = join(folder.path, 'sessions', tapeName(`telegram:${PERSON}`));
      const lines = (await readFile(path, 'utf8')).split('\n');
      expect(lines.filter((line) => line.includes(words))).toHaveLength(1);
      await writeFile(path, lines.map((line) => (line.includes(words) ? '\0'.repeat(line.length) : line)).join('\n'));
      using db = new DatabaseSync(join(folder.path, 'state.db'));
      db.exec("UPDATE opened SET boot = 'an earlier run'");
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
