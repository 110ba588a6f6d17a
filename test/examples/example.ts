import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtProgram } from '../support/built-program.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import type { FakeModel } from '../support/fake-model.ts';
import { tempFolder } from '../support/temp.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));

/** A copy of an example in a folder of its own, where the package is installed, with a model server. */
export interface Example extends AsyncDisposable {
  readonly folder: string;
  /** Its own home. */
  readonly home: string;
  readonly model: FakeModel;
  /** The commands of its README after `npm i assistantd`, in order. */
  readonly commands: readonly string[];
  /** What its README says that they print, in order. */
  readonly prints: readonly string[];
  /** Starts a command in a shell; what it writes to stderr comes with stdout, as in a terminal. */
  start(command: string, env?: Readonly<Record<string, string>>): ChildProcessWithoutNullStreams;
  /** Runs a command to its end; `typed` is what a person types when they are asked. */
  run(command: string | undefined, typed?: string): Promise<{ readonly code: number | null; readonly printed: string }>;
}

export async function openExample(name: string): Promise<Example> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempFolder());
  const model = stack.use(await startFakeOpenAi());
  const program = await builtProgram();
  const folder = join(path, name);
  const home = join(folder, 'home');
  await cp(join(EXAMPLES, name), folder, { recursive: true });
  await mkdir(join(folder, 'node_modules'));
  await symlink(program.folder, join(folder, 'node_modules', 'assistantd'));
  await mkdir(home, { mode: 0o700 });
  const config = {
    agent: { model: 'openai/some-model' },
    providers: { openai: { apiKey: 'key-of-a-test', baseUrl: model.url } },
  };
  await writeFile(join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const readme = await readFile(join(folder, 'README.md'), 'utf8');
  const [install = '', ...commands] = blocks(readme, 'sh').flatMap((block) => block.split('\n'));
  if (install !== 'npm i assistantd') throw new Error(`${name}/README.md does not begin with npm i assistantd`);
  const start: Example['start'] = (command, env = {}) =>
    spawn('/bin/sh', ['-c', `exec 2>&1; exec ${command}`], {
      cwd: folder,
      env: program.environment({ HOME: path, PATH: `${join(process.execPath, '..')}:/usr/bin:/bin`, ...env }),
    });
  const owned = stack.move();
  return {
    folder,
    home,
    model,
    commands,
    prints: blocks(readme, 'text'),
    start,
    run: async (command, typed) => {
      if (command === undefined) throw new Error(`${name}/README.md has no such command`);
      const child = start(command);
      let printed = '';
      if (typed === undefined) child.stdin.end();
      child.stdout.on('data', (piece) => {
        printed += String(piece);
        if (printed.includes('[y/N]')) child.stdin.end(typed);
      });
      const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
      return { code, printed: printed.trimEnd() };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function blocks(page: string, language: string): readonly string[] {
  const found = page.matchAll(new RegExp(`^\`\`\`${language}\\n(?<body>[\\s\\S]*?)\\n\`\`\`$`, 'gmu'));
  return Array.from(found, ({ groups }) => groups?.['body'] ?? '');
}
