import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type ClientConnection,
  type McpServer,
  type NewSessionRequest,
  type PromptResponse,
  type ReadTextFileRequest,
  type RequestPermissionRequest,
  type SessionNotification,
  type SessionUpdate,
  type WriteTextFileRequest,
} from '@agentclientprotocol/sdk';
import { builtProgram } from '../support/built-program.ts';
import type { FakeModel } from '../support/fake-model.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { checkedStream } from './frame-schema.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

/** Which option the person chooses; undefined: they do not answer. */
export type Choose = (request: RequestPermissionRequest) => string | undefined | Promise<string | undefined>;

/** How an editor answers about its files; what it throws is its error. */
export interface EditorDisk {
  readonly read?: (request: ReadTextFileRequest, signal: AbortSignal) => string | Promise<string>;
  readonly write?: (request: WriteTextFileRequest, signal: AbortSignal) => void | Promise<void>;
}

export interface EditorOptions {
  /** @default once */
  readonly choose?: Choose;
  /** @default it offers none */
  readonly files?: EditorDisk;
}

/** An editor that started `assistant acp`. */
export interface Editor {
  readonly child: ChildProcessWithoutNullStreams;
  readonly connection: ClientConnection;
  /** Everything that it was told, oldest first. */
  readonly updates: SessionUpdate[];
  readonly asked: RequestPermissionRequest[];
  readonly stderr: () => string;
  /** What the assistant said, as the editor shows it. */
  readonly said: () => string;
  /** Kills the process, and waits until it is gone. */
  readonly kill: (signal?: NodeJS.Signals) => Promise<void>;
  /** Closes stdin, and waits until the process is gone; returns its exit code. */
  readonly close: () => Promise<number | null>;
}

/** A home with a model server of its own, in which editors and gateways are started. */
export interface EditorWorld extends AsyncDisposable {
  readonly home: string;
  readonly workspace: string;
  /** A folder outside of the home. */
  readonly project: string;
  readonly model: FakeModel;
  /** Starts `assistant acp` and shakes hands. */
  editor(options?: EditorOptions): Promise<Editor>;
  /** Starts a gateway and waits until it serves. */
  gateway(): Promise<{ readonly kill: (signal?: NodeJS.Signals) => Promise<void> }>;
  /** Runs another command of the program on the same home. */
  spawn(...words: readonly string[]): ChildProcessWithoutNullStreams;
}

export async function startEditorWorld(settings: Readonly<Record<string, unknown>> = {}): Promise<EditorWorld> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempFolder());
  const home = join(path, 'home');
  const workspace = join(home, 'workspace');
  const project = join(path, 'project');
  await mkdir(workspace, { recursive: true, mode: 0o700 });
  await mkdir(project);
  const model = stack.use(await startFakeOpenAi());
  const config = {
    agent: { model: 'openai/scripted-model' },
    providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
    heartbeat: { enabled: false },
    gateway: { port: 0 },
    ...settings,
  };
  await writeFile(join(home, 'config.json'), JSON.stringify(config));
  const program = await builtProgram();
  const children: ChildProcessWithoutNullStreams[] = [];
  const problems: string[] = [];
  stack.defer(() => {
    if (problems.length > 0) throw new Error(`frames do not fit the schema:\n${problems.join('\n')}`);
  });
  stack.defer(async () => {
    await Promise.all(children.map((child) => killed(child, 'SIGKILL')));
  });
  const run = (...words: readonly string[]): ChildProcessWithoutNullStreams => {
    const env = program.environment({ HOME: path });
    const child = spawn(process.execPath, [program.main, ...words, '--home', home], { env });
    child.stdin.on('error', () => {});
    children.push(child);
    return child;
  };
  const owned = stack.move();
  return {
    home,
    workspace,
    project,
    model,
    spawn: run,
    editor: async (options = {}) => await shakeHands(run('acp'), options, problems),
    gateway: async () => {
      const child = run('gateway');
      let log = '';
      child.stderr.on('data', (data) => (log += String(data)));
      await waitFor(() => log.includes('"msg":"ready"'), { what: 'the gateway to be ready' });
      return { kill: (signal = 'SIGKILL') => killed(child, signal) };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function shakeHands(
  child: ChildProcessWithoutNullStreams,
  { choose = () => 'once', files = {} }: EditorOptions,
  problems: string[],
): Promise<Editor> {
  const updates: SessionUpdate[] = [];
  const asked: RequestPermissionRequest[] = [];
  let errors = '';
  child.stderr.on('data', (data) => (errors += String(data)));
  const stream = ndJsonStream(Writable.toWeb(child.stdin) as WritableStream<Uint8Array>, Readable.toWeb(child.stdout));
  const connection = client({ name: 'test-editor' })
    .onNotification(methods.client.session.update, ({ params }: { params: SessionNotification }) => {
      updates.push(params.update);
    })
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      asked.push(params);
      const optionId = await choose(params);
      if (optionId !== undefined) return { outcome: { outcome: 'selected', optionId } };
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      return { outcome: { outcome: 'cancelled' } };
    })
    .onRequest(methods.client.fs.readTextFile, async ({ params, signal }) => {
      if (files.read === undefined) throw RequestError.methodNotFound(methods.client.fs.readTextFile);
      return { content: await files.read(params, signal) };
    })
    .onRequest(methods.client.fs.writeTextFile, async ({ params, signal }) => {
      if (files.write === undefined) throw RequestError.methodNotFound(methods.client.fs.writeTextFile);
      await files.write(params, signal);
      return {};
    })
    .connect(await checkedStream(stream, problems));
  await connection.agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: files.read !== undefined, writeTextFile: files.write !== undefined } },
    clientInfo: { name: 'test-editor', version: '1' },
  });
  return {
    child,
    connection,
    updates,
    asked,
    stderr: () => errors,
    said: () => textOf(updates, 'agent_message_chunk'),
    kill: (signal = 'SIGKILL') => killed(child, signal),
    close: async () => {
      const gone = exited(child);
      child.stdin.end();
      return await gone;
    },
  };
}

/** The text of all chunks of a kind. */
export function textOf(
  updates: readonly SessionUpdate[],
  kind: 'agent_message_chunk' | 'agent_thought_chunk' | 'user_message_chunk',
): string {
  return updates
    .flatMap((update) => (update.sessionUpdate === kind && update.content.type === 'text' ? [update.content.text] : []))
    .join('');
}

async function killed(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): Promise<void> {
  const gone = exited(child);
  child.kill(signal);
  await gone;
}

async function exited(child: ChildProcessWithoutNullStreams): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve));
  return child.exitCode;
}

/** Begins a conversation in a folder, with MCP servers; returns its id. */
export async function begin(
  { connection }: Editor,
  cwd: string,
  mcpServers: readonly McpServer[] = [],
): Promise<string> {
  const opened: NewSessionRequest = { cwd, mcpServers: [...mcpServers] };
  return (await connection.agent.request(methods.agent.session.new, opened)).sessionId;
}

/** Loads a conversation; resolves when all that was said is shown. */
export async function load(
  { connection }: Editor,
  sessionId: string,
  cwd: string,
  mcpServers: readonly McpServer[] = [],
): Promise<void> {
  await connection.agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [...mcpServers] });
}

/** Says something and waits for the end of the turn. */
export async function say({ connection }: Editor, sessionId: string, text: string): Promise<PromptResponse> {
  const prompt = [{ type: 'text' as const, text }];
  return await connection.agent.request(methods.agent.session.prompt, { sessionId, prompt });
}
