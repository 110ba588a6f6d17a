import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS, PROGRAM } from '../support/extensions.ts';
import { EXTENSIONS } from '../../src/extensions/index.ts';
import { OPERATIONS } from '../../src/core/gateway/operations/operations.ts';
import { referencePart, referenceRows } from '../config/reference.ts';
import { testToolContext } from '../support/tool-context.ts';
import { chatCommands, terminalCommands } from './commands-page.ts';
import { inlineCode, PAGES } from './documents.ts';
import { expectParts } from './generated-part.ts';
import { operationSections } from './operations-page.ts';
import { ASKS } from './tools-asks.ts';
import { toolSections, toolTable } from './tools-page.ts';
import { startWholeAssistant, type WholeAssistant } from './whole-assistant.ts';

// The generated parts of these pages are rewritten by: npx vitest run test/docs/reference-pages.test.ts -u

let whole: WholeAssistant;

beforeAll(async () => {
  whole = await startWholeAssistant();
});
afterAll(() => whole[Symbol.asyncDispose]());

test('docs/tools.md lists every tool, and what a model reads of it (-u rewrites it)', async () => {
  const guests = new Set(whole.registry.specs('guest').map(({ name }) => name));
  const tools = whole.registry.list();
  await expectParts('docs/tools.md', {
    tools: toolTable(tools, (name) => guests.has(name)),
    parameters: toolSections(tools),
  });
});

test('docs/commands.md lists every command of the terminal and of a chat (-u rewrites it)', async () => {
  await expectParts('docs/commands.md', {
    terminal: terminalCommands(COMMANDS),
    chat: chatCommands(whole.commands.of('owner')),
  });
});

/** What looks like a command of a chat and is none: of other programs, of the web server, examples, a folder. */
const OTHER_NAMES = new Set(
  [
    'ws',
    'newbot setprivacy invite assistant',
    'health v1 metrics',
    'name roll',
    'boot data dev etc home mnt opt proc root sys tmp usr',
  ].flatMap((names) => names.split(' ')),
);

test('commands of a chat that a page names exist', () => {
  const known = new Set(whole.commands.of('owner').map(({ name }) => name));
  // Two other names of /new, and two that only a terminal has.
  for (const name of ['reset', 'clear', 'setup', 'exit']) known.add(name);
  const named = PAGES.flatMap(({ path, text }) =>
    inlineCode(text).flatMap((code) => {
      const name = /^\/(?<name>[a-z]+\d?)(?: .*)?$/u.exec(code)?.groups?.['name'];
      return name === undefined || OTHER_NAMES.has(name) ? [] : [{ path, name }];
    }),
  );
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter(({ name }) => !known.has(name))).toEqual([]);
});

test('docs/configuration.md lists every key (-u rewrites it)', async () => {
  await expectParts('docs/configuration.md', { keys: referencePart(referenceRows(PROGRAM.schema)) });
});

test('docs/gateway.md lists every operation (-u rewrites it)', async () => {
  await expectParts('docs/gateway.md', {
    operations: operationSections([...OPERATIONS, ...EXTENSIONS.flatMap(({ operations = [] }) => operations)]),
  });
});

describe('what docs/tools.md says that is asked about', () => {
  test('is said of tools that there are', () => {
    const names = new Set(whole.registry.list().map(({ tool }) => tool.name));
    expect(Object.keys(ASKS).filter((name) => !names.has(name))).toEqual([]);
  });

  const examples = Object.entries(ASKS).flatMap(([name, asking]) =>
    asking.examples.map(([args, different = {}]) => [name, JSON.stringify(args), different] as const),
  );
  test.each(examples)('%s %s is asked about', async (name, args, different) => {
    expect(await whole.registry.decide({ name, arguments: args }, testToolContext(different))).toMatchObject({
      decision: 'ask',
    });
  });

  const conditional = examples.filter(([, , different]) => different.taint !== undefined);
  test.each(conditional)('%s %s is asked about only with words of others', async (name, args) => {
    const { decision } = await whole.registry.decide({ name, arguments: args }, testToolContext());
    expect(decision).not.toBe('ask');
  });
});
