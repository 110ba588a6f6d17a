import { spawn, type ChildProcess } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtProgram } from '../support/built-program.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const program = await builtProgram();

interface Run {
  readonly child: ChildProcess;
  /** What it said on stdout and stderr so far. */
  readonly out: () => string;
  readonly err: () => string;
  readonly code: Promise<number | null>;
}

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Run {
  const child = spawn(process.execPath, [program.main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: program.environment({ HOME: '/nonexistent', ...env }),
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (data: Buffer) => (out += data.toString()));
  child.stderr.on('data', (data: Buffer) => (err += data.toString()));
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, out: () => out, err: () => err, code };
}

async function withHome<T>(config: string | null, work: (home: string) => Promise<T>): Promise<T> {
  await using folder = await tempFolder();
  const home = join(folder.path, 'home');
  await mkdir(home, { mode: 0o700 });
  if (config !== null) await writeFile(join(home, 'config.json'), config);
  return await work(home);
}

/** Ran to its end: the code and one sentence, without a stack. */
async function sentence(run: Run): Promise<readonly [number | null, string]> {
  const code = await run.code;
  const text = run.err().trim();
  expect(text).not.toMatch(/^\s+at /mu);
  expect(text.split('\n')).toHaveLength(1);
  return [code, text];
}

describe('what cannot start says so in one sentence', () => {
  test('a malformed configuration, with line and column', async () => {
    await withHome('{\n  "agent": {,\n}', async (home) => {
      const [code, text] = await sentence(start(['gateway', '--home', home]));
      expect(code).toBe(78);
      expect(text).toMatch(/config\.json:2:\d+/u);
    });
  });

  test('a wrong value, with its path, what was expected and what was given', async () => {
    await withHome('{"agent": {"maxIterations": "many"}}', async (home) => {
      const [code, text] = await sentence(start(['gateway', '--home', home]));
      expect(code).toBe(78);
      expect(text).toMatch(/agent\.maxIterations.*number.*"many"/u);
    });
  });

  test('an unknown provider in the model’s name', async () => {
    await withHome('{"agent": {"model": "antropic/claude"}}', async (home) => {
      const [code, text] = await sentence(start(['gateway', '--home', home]));
      expect([code, text]).toEqual([78, expect.stringContaining('anthropic')]);
    });
  });

  test('a model without its key', async () => {
    await withHome('{"agent": {"model": "anthropic/claude-sonnet-5-5"}}', async (home) => {
      const [code, text] = await sentence(start(['gateway', '--home', home]));
      expect([code, text]).toEqual([78, expect.stringContaining('ANTHROPIC_API_KEY')]);
    });
  });

  test('a busy port', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await withHome(null, async (home) => {
      const [code, text] = await sentence(start(['gateway', '--home', home, '--port', String(port)]));
      expect([code, text]).toEqual([1, expect.stringContaining(`Port ${port} on 127.0.0.1 is taken`)]);
    });
    server.close();
  });

  test('a second daemon on the same home, which names the first', async () => {
    await withHome(null, async (home) => {
      const first = start(['gateway', '--home', home, '--port', '0']);
      await waitFor(() => first.err().includes('"msg":"ready"'));
      const [code, text] = await sentence(start(['gateway', '--home', home, '--port', '0']));
      expect([code, text]).toEqual([1, expect.stringContaining(String(first.child.pid))]);
      first.child.kill('SIGTERM');
      expect(await first.code).toBe(0);
    });
  });

  test('a home that is a file', async () => {
    await withHome('{}', async (home) => {
      const [code, text] = await sentence(start(['gateway', '--home', join(home, 'config.json')]));
      expect(code).toBe(1);
      expect(text).toContain('cannot live in');
    });
  });
});

describe('assistant chat -m', () => {
  test('puts the reply on stdout and ends with 0; a failing model ends with 1 and a sentence', async () => {
    await using model = await startFakeOpenAi();
    const env = { OPENAI_API_KEY: 'test-key-12345678', OPENAI_BASE_URL: model.url };
    await withHome('{"agent": {"model": "openai/scripted-model"}}', async (home) => {
      model.reply('Good morning.');
      const good = start(['chat', '-m', 'hello', '--home', home], env);
      expect([await good.code, good.out().trim()]).toEqual([0, 'Good morning.']);
      model.reply({ error: { status: 401, message: 'no' } });
      const bad = start(['chat', '-m', 'hello', '--home', home, '--json'], env);
      expect(await bad.code).toBe(1);
      expect(JSON.parse(bad.out())).toMatchObject({
        isError: true,
        text: expect.stringContaining('refused the API key'),
      });
    });
  });
});
