import { expect, test } from 'vitest';
import type { AnswerOf } from '../../src/core/api.ts';
import type { mcpList, mcpTest } from '../../src/extensions/mcp/operation.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { CommandLine } from './command-line.ts';

type ServerFacts = AnswerOf<typeof mcpList>[number];
type ServerReport = AnswerOf<typeof mcpTest>;

const NOTES: ServerFacts = {
  name: 'notes',
  runs: 'npx notes-server --quiet',
  state: 'running',
  trouble: null,
  pinned: { at: Date.UTC(2026, 10, 21), tools: 2 },
  offered: ['mcp_notes_add', 'mcp_notes_find'],
  difference: { added: ['steal'], changed: ['add'], removed: ['find'] },
};
const OFF: ServerFacts = {
  ...NOTES,
  name: 'later',
  state: 'off',
  pinned: null,
  offered: [],
  difference: null,
};
const BROKEN: ServerFacts = { ...OFF, name: 'broken', state: 'failed', trouble: 'it ended with exit code 1' };
const parameters = { type: 'object', properties: { text: { description: 'More words' } } };
const REPORT: ServerReport = {
  ...NOTES,
  is: 'notes 1.0',
  tools: [
    { name: 'add', description: 'Adds.\nAnd\u202E more.', parameters, state: 'changed' },
    { name: 'list', description: 'Lists.', parameters, state: 'agreed' },
    { name: 'steal', description: 'Steals.', parameters, state: 'added' },
  ],
  resources: true,
  prompts: false,
  readOnly: [],
  hash: 'abc',
};

function commandLine(report = REPORT): { line: CommandLine; trusted: string[] } {
  const line = new CommandLine();
  const trusted: string[] = [];
  line.assistant.answers = {
    mcpList: async () => [NOTES, OFF, BROKEN],
    mcpTest: async ({ name }) => {
      if (name !== 'notes') throw new AppError('mcp-unknown', 'No MCP server "note" is in use. Did you mean notes?');
      return report;
    },
    mcpTrust: async ({ hash }) => {
      trusted.push(hash);
      return { added: ['steal'], changed: ['add'], removed: ['find'] };
    },
  };
  return { line, trusted };
}

test('an assistant that is started for one of these commands writes no log between its lines', async () => {
  const { line } = commandLine();
  await line.run('mcp', 'test', 'notes');
  expect(line.started).toMatchObject([{ serve: 'local', config: { log: { level: 'silent' } } }]);
});

test('a tool that no model can be shown is marked', async () => {
  const tools = [{ name: 'odd', description: 'Odd.', parameters, state: 'unusable' as const }];
  const { line } = commandLine({ ...REPORT, tools });
  await line.run('mcp', 'test', 'notes');
  expect(line.out).toContain('odd [left out: models cannot use its schema]  Odd.');
});

test('lists the servers, what is wrong with them and what to do', async () => {
  for (const argv of [['mcp'], ['mcp', 'list']]) {
    const { line } = commandLine();
    expect(await line.run(...argv)).toBe(0);
    expect(line.out.split('\n')).toEqual([
      'notes  running, 2 tools, agreed 2026-11-21',
      '  npx notes-server --quiet',
      '  ⚠ new: steal; changed: add; gone: find. New and changed ones are off until you run: npm run assistant -- mcp trust notes',
      'later  off',
      '  npx notes-server --quiet',
      'broken  failed, no contact yet',
      '  npx notes-server --quiet',
      '  ⚠ it does not work: it ended with exit code 1',
      '',
    ]);
  }
});

test('tests a server by name', async () => {
  const { line } = commandLine();
  expect(await line.run('mcp', 'test', 'notes')).toBe(0);
  expect(line.out).toContain(
    'notes works: notes 1.0\n  add [changed: off]  Adds. And\\u{202e} more.\n  list  Lists.\n',
  );
  expect(line.out).toContain('(has resources)');
  const wrong = commandLine().line;
  expect(await wrong.run('mcp', 'test', 'note')).toBe(1);
  expect(wrong.err).toContain('Did you mean notes?');
});

test('shows every word before a yes, and agrees to exactly what was shown', async () => {
  const { line, trusted } = commandLine();
  expect(await line.run('mcp', 'trust', 'notes')).toBe(1);
  expect(line.err).toContain('add --yes');
  expect(trusted).toEqual([]);
  expect(line.out).toContain('changed: add\n  │ Adds.\n  │ And\\u{202e} more.\n  │ {');
  expect(line.out).toContain('"description": "More words"');
  expect(line.out).toContain('new: steal');
  expect(line.out).not.toContain('Lists.');
  const sure = commandLine();
  expect(await sure.line.run('mcp', 'trust', 'notes', '--yes')).toBe(0);
  expect(sure.trusted).toEqual(['abc']);
  expect(sure.line.out).toContain('notes may be used with the tools that it offers now.');
});

test('has nothing to ask where nothing changed', async () => {
  const { line, trusted } = commandLine({ ...REPORT, tools: [], difference: { added: [], changed: [], removed: [] } });
  expect(await line.run('mcp', 'trust', 'notes')).toBe(0);
  expect(line.out).toContain('notes offers exactly the tools that you approved');
  expect(trusted).toEqual([]);
});
