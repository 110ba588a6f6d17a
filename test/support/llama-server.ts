import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { startRecordingProxy, type ProxyOptions, type RecordingProxy } from './recording-proxy.ts';
import { waitFor } from './wait.ts';

const { env } = process;
const FOLDER = env['ASSISTANT_LLAMA'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'assistant-llama');
const SERVER = join(FOLDER, 'build/bin/llama-server');

/** Why tests with llama.cpp can't run, and what to do; undefined if they can. */
export const NO_LLAMA = existsSync(SERVER)
  ? undefined
  : `llama-server is not built: run test/scripts/build-llama.sh (ten minutes)`;

export interface LlamaOptions extends ProxyOptions {
  /** A file of its templates without `.jinja`. @default chatml, which is built in */
  readonly template?: string;
  /** One of llama.cpp's. @default qwen2 */
  readonly vocabulary?: 'qwen2' | 'llama-bpe' | 'llama-spm' | 'gemma-4';
  /** So many of its tokens; 0: all. @default 16000 */
  readonly keep?: number;
  /** Serves vectors instead of answers. @default false */
  readonly isEmbedding?: boolean;
  /** Over `-c 32768 -np 1`. */
  readonly flags?: readonly string[];
}

/** llama.cpp's server with a small random model, and a proxy in front that keeps what passes. */
export interface Llama extends AsyncDisposable {
  readonly proxy: RecordingProxy;
  /** Ends it at once, as when the machine loses it. */
  kill(): Promise<void>;
  /** Starts it again, with another template. */
  start(template?: string): Promise<void>;
  /** How many tokens its vocabulary makes of a text. */
  countTokens(text: string): Promise<number>;
}

export async function startLlama(options: LlamaOptions = {}): Promise<Llama> {
  const { vocabulary = 'qwen2', keep = 16_000, isEmbedding = false, flags = [] } = options;
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  await using stack = new AsyncDisposableStack();
  let child: ReturnType<typeof spawn> | undefined;
  const kill = async (): Promise<void> => {
    const dying = child;
    child = undefined;
    if (dying?.kill('SIGKILL') === true) await once(dying, 'exit');
  };
  stack.defer(kill);
  const launch = async (model: string, template: string | undefined): Promise<void> => {
    await kill();
    const usual = `-m ${model} --host 127.0.0.1 --port ${port} -t 2 -c 32768 -np 1 --temp 0.7 --seed 1 --no-warmup`;
    const chat =
      template === undefined ? ['--chat-template', 'chatml'] : ['--chat-template-file', templateFile(template)];
    const kind = isEmbedding ? ['--embedding', '--pooling', 'mean'] : [];
    child = spawn(SERVER, [...usual.split(' '), ...chat, ...kind, ...flags], { stdio: 'ignore' });
    await waitFor(async () => (await fetch(`${address}/health`)).ok, { what: 'llama-server' });
  };
  const modelFor = async (template: string | undefined): Promise<string> => {
    const kind = isEmbedding ? 'embedding' : (template ?? 'chatml');
    const path = join(FOLDER, `${vocabulary}-${keep}-${kind}.gguf`);
    if (existsSync(path)) return path;
    const make = [...(keep > 0 ? ['--keep', String(keep)] : []), ...(isEmbedding ? ['--embedding'] : [])];
    if (template === undefined) return await makeModel(vocabulary, path, make);
    await launch(await modelFor(undefined), template);
    return await makeModel(vocabulary, path, [...make, '--call', await callIn(address)]);
  };
  const start = async (template = options.template): Promise<void> => launch(await modelFor(template), template);
  await start();
  const proxy = stack.use(await startRecordingProxy(address, options));
  const owned = stack.move();
  return {
    proxy,
    kill,
    start,
    countTokens: async (content) => {
      const { tokens } = (await ask(`${address}/tokenize`, { content })) as { tokens: readonly number[] };
      return tokens.length;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function templateFile(name: string): string {
  return join(FOLDER, 'src/models/templates', `${name}.jinja`);
}

async function ask(url: string, body: unknown): Promise<unknown> {
  return await (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).json();
}

/** How a call of a tool begins in the template of a server; '' where it has none. */
async function callIn(address: string): Promise<string> {
  const question = { role: 'user', content: 'What is here?' };
  const called = { name: 'list_dir', arguments: '{"path": "notes.txt"}' };
  const answer = {
    role: 'assistant',
    content: '',
    tool_calls: [{ id: 'abcdefghi', type: 'function', function: called }],
  };
  const rendered = async (messages: readonly unknown[]): Promise<string> =>
    ((await ask(`${address}/apply-template`, { messages })) as { prompt?: string }).prompt ?? '';
  const result = { role: 'tool', tool_call_id: 'abcdefghi', name: 'list_dir', content: 'nothing' };
  const [before, after] = [await rendered([question]), await rendered([question, answer, result])];
  let at = 0;
  while (at < before.length && before[at] === after[at]) at += 1;
  const until = /[\s\S]*list_dir[\s\S]*notes\.txt(?:"\})?/u.exec(after.slice(at));
  return until?.[0] ?? '';
}

/** Made once for all runs. */
async function makeModel(vocabulary: string, path: string, more: readonly string[]): Promise<string> {
  const source = join(FOLDER, 'src');
  const script = join(import.meta.dirname, '../llama/random-model.py');
  const from = join(source, `models/ggml-vocab-${vocabulary}.gguf`);
  const PYTHONPATH = join(source, 'gguf-py');
  await promisify(execFile)('python3', [script, from, path, ...more], { env: { ...env, PYTHONPATH } });
  return path;
}
