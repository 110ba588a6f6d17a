import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { CommandLine } from '../../cli/command-line.ts';
import { temporaryFolder } from '../../config/temporary-home.ts';
import { runCommand, type CommandRun } from '../../support/command-run.ts';
import { startFakeOpenAi } from '../../support/fake-openai.ts';
import type { FakeModel } from '../../support/fake-model.ts';
import type { RequestView, Step } from '../../support/model-script.ts';

const KEY = 'lab-key-1234567890';
export const MODEL = 'openai/lab';
/** A dollar for a thousand tokens, so that the 15 tokens of a scripted call cost one and a half cents. */
export const PRICED = { contextWindow: 100_000, price: { input: 1_000, output: 1_000 } };

/** A model for the tests of this file, and homes that use it. */
export function skillLab(): { readonly model: FakeModel; readonly homeWith: (options?: HomeOptions) => string } {
  let model: FakeModel;
  beforeAll(async () => {
    model = await startFakeOpenAi({ apiKey: KEY });
  });
  afterAll(() => model[Symbol.asyncDispose]());
  beforeEach(() => model.setHandler(() => 'I do not know.'));
  return {
    get model() {
      return model;
    },
    homeWith: (options = {}) => homeOf(model, options),
  };
}

interface HomeOptions {
  readonly cases?: string;
  readonly body?: string;
  readonly more?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** A home with the skill `tea`, which says how tea is made. */
function homeOf(
  model: FakeModel,
  { cases, body = 'Say that tea needs four minutes.', more = '', settings = {} }: HomeOptions,
): string {
  const home = temporaryFolder();
  const config = {
    agent: { model: MODEL },
    providers: { openai: { apiKey: KEY, baseUrl: model.url } },
    models: { [MODEL]: PRICED },
    log: { level: 'error' },
    ...settings,
  };
  put(join(home, 'config.json'), JSON.stringify(config));
  const skill = join(home, 'workspace/skills/tea');
  put(join(skill, 'SKILL.md'), `---\nname: tea\ndescription: How tea is made.\n${more}---\n${body}\n`);
  if (cases !== undefined) put(join(skill, 'cases.yaml'), cases);
  return home;
}

export function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: 0o600 });
}

/** A model that loads the skill if it is told of it, and says how long tea takes only if it has read it. */
export function teaModel({ system, toolResults }: RequestView): Step {
  if (toolResults.some(({ text }) => text.includes('four minutes'))) return 'Four minutes.';
  if (system.includes('How tea is made.')) return { calls: [{ name: 'skill', arguments: { name: 'tea' } }] };
  return 'I am not sure.';
}

export const lab = (home: string, ...words: readonly string[]): Promise<CommandRun> =>
  runCommand(['skills', ...words], home);

/** The hash of every file of a home by its path. */
export function filesOf(folder: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name);
    if (statSync(path).isFile()) found[name] = createHash('sha256').update(readFileSync(path)).digest('hex');
  }
  return found;
}

/** A command line whose folder for temporary files is its own, and what lies there. */
export function lineOf(home: string): {
  readonly line: CommandLine;
  readonly folder: string;
  readonly trials: () => string[];
} {
  const folder = temporaryFolder();
  const line = new CommandLine({ home, env: { HOME: home, TMPDIR: folder } });
  line.app = () => import('../../../src/app.ts');
  return { line, folder, trials: () => readdirSync(folder).toSorted() };
}
