import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../support/extensions.ts';
import { createAssistant, type Assistant } from '../../src/app.ts';
import { textWidth } from '../../src/core/channels/markup/terminal-text.ts';
import { flagName, type CliCommand } from '../../src/core/cli/command.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { commandLines } from '../docs/command-lines.ts';
import { tempFolder } from '../support/temp.ts';
import { CommandLine } from './command-line.ts';

const ALL: readonly (readonly [string, CliCommand])[] = COMMANDS.flatMap((row) =>
  'commands' in row
    ? row.commands.map((command) => [`${row.name} ${command.name}`, command] as const)
    : [[row.name, row] as const],
);
/** The commands that only look at something. */
const LOOKING = ALL.filter(([, { description }]) => /^(?:list|show|find)\b/u.test(description));
const WIDTHS = [60, 80, 200];

describe.each(ALL)('assistant %s', (name, command) => {
  const words = name.split(' ');
  const ownHelp = new RegExp(`See npm \\S.* --help\\.\\n$`, 'u');

  test.each(WIDTHS)(
    'has help that fits %i columns, with options, examples, the home and exit codes',
    async (columns) => {
      const line = new CommandLine({ terminal: true, columns });
      expect(await line.run(...words, '--help')).toBe(0);
      for (const key of Object.keys(command.options)) expect(line.out).toContain(flagName(key));
      expect(line.out).toContain('--home <folder>');
      expect(line.out).toMatch(/\nExamples:\n {2}npm /u);
      const oneLine = line.out.replaceAll(/\s+/gu, ' ');
      for (const code of ['Exit codes: 0 ', ' 1 ', ' 2 the command line is wrong', ' 78 '])
        expect(oneLine).toContain(code);
      const examples = /\nExamples:\n(?:.+\n)*/u.exec(line.out)?.[0] ?? '';
      expect(tooWide(line.out.replace(examples, ''), columns)).toEqual([]);
    },
  );

  test('refuses an option that it does not have with exit code 2, one sentence and its own help', async () => {
    const line = new CommandLine();
    expect(await line.run(...words, '--nonsense')).toBe(2);
    expect(line.err).toMatch(/^Unknown option '--nonsense'\./u);
    expect(line.err).toMatch(ownHelp);
    expect(line.err).toContain(
      `${words.slice(words[0] === 'gateway' || words[0] === 'chat' ? 1 : 0).join(' ')} --help`,
    );
    expect(line.out).toBe('');
  });

  const wrongValues = Object.entries(command.options).flatMap(([key, option]) => {
    if (option.choices !== undefined) return [[flagName(key), 'nonsense']];
    try {
      option.read('nonsense', flagName(key));
      return [];
    } catch {
      return [[flagName(key), 'nonsense']];
    }
  });
  test.runIf(wrongValues.length > 0).each(wrongValues)(
    'refuses %s %s with exit code 2 and its own help',
    async (...wrong) => {
      const line = new CommandLine();
      expect(await line.run(...exampleOf(name, command), ...wrong)).toBe(2);
      expect(line.err).toContain(wrong[0]);
      expect(line.err.trim().split('\n')).toHaveLength(1);
      expect(line.err).toMatch(ownHelp);
    },
  );

  test('is what a typing mistake is taken for', async () => {
    const line = new CommandLine();
    const last = words.at(-1) ?? '';
    expect(await line.run(...words.slice(0, -1), `${last}${last.at(-1) ?? ''}`)).toBe(2);
    expect(line.err).toContain(`Did you mean ${last}?`);
  });
});

test.each(LOOKING)('assistant %s only looks, so it has --json', (_, { options }) => {
  expect(options).toHaveProperty('json');
});

describe('on a home with a configuration that is wrong', () => {
  test.each(LOOKING)('assistant %s does its work or ends with 78 and the place', async (name, command) => {
    await using folder = await tempFolder();
    writeFileSync(join(folder.path, 'config.json'), '{\n  "agent": {"model": 7}\n}');
    const line = new CommandLine({ home: folder.path });
    line.app = () => import('../../src/app.ts');
    const code = await line.run(...exampleOf(name, command));
    // What reads conversations and the log needs no settings.
    if (code !== 78) expect(line.err).not.toContain('config.json');
    else expect(line.err).toMatch(/config\.json:2:\d+: [^\n]+\n$/u);
    expect(line.err).not.toMatch(/\n {4}at |unexpected/u);
  });
});

describe('beside an assistant that runs', () => {
  let home: Awaited<ReturnType<typeof tempFolder>>;
  let assistant: Assistant;
  beforeAll(async () => {
    home = await tempFolder();
    assistant = await createAssistant({ home: home.path, log: silentLog, environment: {} });
    await assistant.run(`remember that ${'the train to Graz leaves at nine '.repeat(10)}`);
    const job = { when: 'in 20h', text: 'Take the bread out of the oven '.repeat(6).trim(), kind: 'message' } as const;
    await assistant.call('cron', { action: 'add', job: { ...job, chat: 'terminal:main' } });
  }, 180_000);
  afterAll(async () => {
    await assistant[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  test.each(LOOKING)(
    'assistant %s --json prints JSON and nothing else, or one sentence on stderr',
    async (name, command) => {
      const line = attached();
      const code = await line.run(...exampleOf(name, command), '--json');
      if (code === 0) for (const text of jsonTexts(name, line.out)) expect(() => JSON.parse(text)).not.toThrow();
      else {
        expect(line.out).toBe('');
        expect(line.err).toMatch(/^(?!Something unexpected)\S[^\n]+\n$/u);
      }
    },
  );

  test.each(LOOKING.flatMap((row) => WIDTHS.map((columns) => [row[0], columns, row[1]] as const)))(
    'what assistant %s shows fits %i columns',
    async (name, columns, command) => {
      const line = attached({ terminal: true, columns });
      await line.run(...exampleOf(name, command));
      expect(line.out + line.err).not.toBe('');
      expect(tooWide(line.out, columns)).toEqual([]);
    },
  );

  function attached(options: ConstructorParameters<typeof CommandLine>[0] = {}): CommandLine {
    const line = new CommandLine({ ...options, home: home.path });
    line.connect = (path) => connectAssistant(path, systemClock);
    return line;
  }
});

/** The first example of a command, without what a shell makes of it. */
function exampleOf(name: string, command: CliCommand): readonly string[] {
  const needsNothing = Object.values(command.arguments).every(({ isRequired }) => !isRequired);
  const [example = name] = needsNothing ? [name] : command.examples;
  return commandLines(`\`assistant ${example}\``)[0]?.words ?? [];
}

/** The log is one object on each line. */
function jsonTexts(name: string, out: string): readonly string[] {
  return name === 'logs' ? out.split('\n').filter((text) => text !== '') : [out];
}

/** Lines that are wider than the terminal, though they could be broken between two words. */
function tooWide(text: string, columns: number): readonly string[] {
  return text.split('\n').filter((line) => textWidth(line) > columns && line.trim().includes(' '));
}
