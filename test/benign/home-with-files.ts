import { accessSync, constants } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { startServer } from '../support/http.ts';
import { publishHost } from '../support/internet.ts';
import type { ScriptedCall } from '../support/model-script.ts';
import { writeProgram } from '../support/program-file.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World, type WorldOptions } from '../support/world.ts';

/** Something that people want from an assistant every day, done as a good model does it. */
export interface Task {
  /** What is wanted. */
  readonly name: string;
  /** The owner's words. @default the name */
  readonly prompt?: string;
  /** Of the message on the platform. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** Programs that the machine has to have. */
  readonly needs?: readonly string[];
  /** Questions to the owner. @default 0 */
  readonly asks?: number;
  readonly prepare?: (home: HomeWithFiles) => Promise<unknown>;
  /** One after the other. */
  readonly calls: readonly ScriptedCall[];
  /** `results`: what the tools answered, in order. */
  readonly isDone: (home: HomeWithFiles, results: readonly string[]) => boolean | Promise<boolean>;
}

/** A world for tasks: a workspace, a few hosts, a program that needs the network. */
export interface HomeWithFiles extends AsyncDisposable {
  readonly world: World;
  /** A file of the workspace; empty when there is none. */
  readonly read: (name: string) => Promise<string>;
  readonly write: (name: string, content: string | Uint8Array) => Promise<void>;
  readonly isThere: (name: string) => boolean;
  /** Does a task; whatever the owner is asked is allowed with the button. Resolves with how often that was. */
  readonly run: (task: Task) => Promise<{ readonly questions: number; readonly isDone: boolean }>;
  /** The same in the conversation and among the files that are there. */
  readonly continueWith: (task: Task) => Promise<{ readonly questions: number; readonly isDone: boolean }>;
  /** Begins a conversation; the files stay. */
  readonly newConversation: () => Promise<void>;
}

/** Where commands in the sandbox look for programs. */
const FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin'];
const DONE = 'All done.';
const OFFICE = fileURLToPath(new URL('../support/office-server.ts', import.meta.url));
/** MCP servers; those that are trusted are believed when they say that a tool only reads. */
const office = (name: string): object => ({ command: process.execPath, args: [OFFICE, name], trusted: true });
const GH = `#!/bin/sh
case "$*" in
  "pr list"*) echo '[{"number":34,"title":"Faster start"}]' ;;
  "issue comment"*) echo 'https://github.example/issues/12#comment-1' ;;
  *) echo "unknown: $*" >&2; exit 1 ;;
esac
`;

export const call = (name: string, args: Readonly<Record<string, unknown>>): ScriptedCall => ({
  name,
  arguments: args,
});
export const exec = (command: string, more: Readonly<Record<string, unknown>> = {}): ScriptedCall =>
  call('exec', { command, ...more });

/** Whether commands find a program. */
export function has(program: string): boolean {
  return FOLDERS.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** `pages`: bodies by host and path. */
export async function openHomeWithFiles(
  pages: Readonly<Record<string, string | Uint8Array>>,
  options: Pick<WorldOptions, 'clock'> = {},
): Promise<HomeWithFiles> {
  await using stack = new AsyncDisposableStack();
  const site = stack.use(
    await startServer((request, response) => {
      const body = pages[`${request.headers.host ?? ''}${request.url ?? ''}`];
      const type = typeof body === 'string' ? (/^\s*</u.test(body) ? 'text/html' : 'text/plain') : 'application/pdf';
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': type }).end(body);
    }),
  );
  for (const host of new Set(Object.keys(pages).map((address) => address.split('/')[0] ?? ''))) {
    stack.use(publishHost(host, site.port));
  }
  const bin = stack.use(await tempFolder());
  writeProgram(join(bin.path, 'gh'), GH);
  vi.stubEnv('PATH', `${bin.path}:${process.env['PATH'] ?? ''}`);
  stack.defer(() => void vi.unstubAllEnvs());
  const world = stack.use(
    await startWorld({
      ...options,
      config: {
        agent: { timezone: 'Europe/Vienna' },
        channels: { telegram: { allowFrom: [String(OWNER), '43'], owners: [String(OWNER)] } },
        skills: { entries: { house: { trusted: true } } },
        mcpServers: { mail: office('mail'), calendar: office('calendar'), issues: office('issues') },
      },
    }),
  );
  // The first time a server connects, its tools are approved; until then no task can use them.
  await waitFor(
    async () => (await world.assistant.call('toolsList', {})).filter(({ name }) => name.startsWith('mcp_')).length >= 9,
    {
      what: 'the tools of the MCP servers',
    },
  );
  const at = (name: string): string => join(world.workspace, name);
  const owned = stack.move();
  const home: HomeWithFiles = {
    world,
    read: (name) => readFile(at(name), 'utf8').catch(() => ''),
    write: async (name, content) => {
      await mkdir(dirname(at(name)), { recursive: true });
      await writeFile(at(name), content);
    },
    isThere: (name) => {
      try {
        accessSync(at(name));
        return true;
      } catch {
        return false;
      }
    },
    run: async (task) => {
      await begin(home);
      await task.prepare?.(home);
      return await perform(home, task);
    },
    continueWith: async (task) => {
      await task.prepare?.(home);
      return await perform(home, task);
    },
    newConversation: () => newConversation(world),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  return home;
}

async function newConversation(world: World): Promise<void> {
  const fresh = (): number => chatOf(world).filter((said) => said.startsWith('I started a new conversation')).length;
  const before = fresh();
  world.telegram.userSays(OWNER, '/new');
  await waitFor(() => fresh() > before, { what: 'a new conversation' });
}

async function begin({ world, write }: HomeWithFiles): Promise<void> {
  await newConversation(world);
  for (const name of ['work', 'skills', 'downloads', '.git', 'cron']) {
    await rm(join(world.workspace, name), { recursive: true, force: true, maxRetries: 5 });
  }
  await write('memory/MEMORY.md', '- The owner lives in Berlin.\n- Ann is the owner’s sister.\n');
  await write('AGENTS.md', 'Answer briefly.\n');
  await mkdir(join(world.workspace, 'work'));
}

interface Question {
  readonly messageId: number;
  readonly code: string;
}

async function perform(
  home: HomeWithFiles,
  task: Task,
): Promise<{ readonly questions: number; readonly isDone: boolean }> {
  const { world } = home;
  const { telegram, model } = world;
  const asked = model.requests.length;
  const before = chatOf(world).length;
  const answered = new Set<string>();
  model.reply(...task.calls.map((one) => ({ calls: [one] })), DONE);
  telegram.userSays(OWNER, task.prompt ?? task.name, task.extra);
  await waitFor(
    () => {
      for (const { messageId, code } of openQuestions(world, before)) {
        if (answered.has(code)) continue;
        answered.add(code);
        telegram.userPresses(OWNER, messageId, `approve:${code}`);
      }
      return chatOf(world).slice(before).includes(DONE);
    },
    { what: `the end of: ${task.name}` },
  );
  const results = model.requests.slice(asked).flatMap(({ view }) => view.toolResults.slice(-1).map(({ text }) => text));
  const isDone = await task.isDone(home, results);
  if (!isDone) throw new Error(`${task.name} did not work:\n${results.join('\n')}`);
  return { questions: answered.size, isDone };
}

function openQuestions({ telegram }: World, before: number): readonly Question[] {
  const sent = telegram.sentMessages.filter(({ chatId }) => chatId === OWNER).slice(before);
  return sent.flatMap(({ messageId, visibleText }) => {
    const code = /\/approve (?<code>\w+)/u.exec(visibleText)?.groups?.['code'];
    return code === undefined ? [] : [{ messageId, code }];
  });
}
