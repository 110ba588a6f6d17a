import { describe, expect, test } from 'vitest';
import { readAllowedTools } from '../../src/core/skills/allowed-tools.ts';

function allowed(value: unknown): readonly string[] | null {
  return (
    readAllowedTools(value).allowed?.map(({ tool, commandPrefix }) =>
      commandPrefix === undefined ? tool : `${tool} ${commandPrefix}`,
    ) ?? null
  );
}

test.each([
  ['Bash', ['exec']],
  ['shell', ['exec']],
  ['Read', ['read_file']],
  ['Write', ['write_file']],
  ['Edit', ['edit_file']],
  ['MultiEdit', ['edit_file', 'apply_patch']],
  ['LS', ['list_dir']],
  ['Glob', ['glob']],
  ['Grep', ['grep']],
  ['WebFetch', ['web_fetch']],
  ['WebSearch', ['web_search']],
  ['Task', ['spawn']],
  ['Agent', ['spawn']],
  ['memory_search', ['memory_search']],
  ['mcp__lake__depth_of', ['mcp_lake_depth_of']],
  ['mcp_lake_depth', ['mcp_lake_depth']],
])('%s is %j here', (name, tools) => {
  expect(allowed(name)).toEqual(tools);
  expect(allowed([name.toUpperCase().replace(/^MCP.*/u, name)])).toEqual(tools);
});

test.each([
  ['Read, Grep', ['read_file', 'grep']],
  ['Read Grep', ['read_file', 'grep']],
  ['Read,Grep;Glob', ['read_file', 'grep', 'glob']],
  ['Read, Read', ['read_file']],
  ['"Read", "Grep"', ['read_file', 'grep']],
  [
    ['Read', 'Grep'],
    ['read_file', 'grep'],
  ],
])('%j is split into %j', (value, tools) => {
  expect(allowed(value)).toEqual(tools);
});

test.each([
  ['Bash(git:*)', ['exec git']],
  ['Bash(git add:*), Bash(git commit:*)', ['exec git add', 'exec git commit']],
  ['Bash(git add:*, git commit:*)', ['exec git add', 'exec git commit']],
  [
    ['Bash(git add:*', 'git commit:*)', 'Read'],
    ['exec git add', 'exec git commit', 'read_file'],
  ],
  ['Bash(uv run *)', ['exec uv run']],
  ['Bash(npm test)', ['exec npm test']],
  ['Bash (git:*) Read', ['exec git', 'read_file']],
  ['Bash(git:*', ['exec git']],
  ['Bash(*)', ['exec']],
  ['Bash(:*)', ['exec']],
  ['Bash()', ['exec']],
  ['Bash(echo $(date):*)', ['exec echo $(date)']],
])('%j allows %j', (value, tools) => {
  expect(readAllowedTools(value).warnings).toEqual([]);
  expect(allowed(value)).toEqual(tools);
});

test.each([[undefined], [null], [''], [[]], ['*'], [['Read', '*']]])('%j is no limit', (value) => {
  expect(allowed(value)).toBeNull();
});

describe('what cannot be translated', () => {
  test('is ignored with a warning', () => {
    expect(readAllowedTools('Read, TodoWrite')).toEqual({
      allowed: [{ tool: 'read_file' }],
      warnings: ['Its allowed tool TodoWrite does not exist here and was ignored.'],
    });
  });

  test('leaves a list that allows nothing rather than no limit', () => {
    expect(allowed('TodoWrite NotebookEdit')).toEqual([]);
  });

  test('a command pattern with a wildcard inside allows nothing', () => {
    const { allowed: tools, warnings } = readAllowedTools('Bash(git * --force), Bash(* --help)');

    expect(tools).toEqual([]);
    expect(warnings).toHaveLength(2);
  });

  test('a limit of another tool than exec is dropped with a warning', () => {
    expect(readAllowedTools('WebFetch(domain:example.org)')).toEqual({
      allowed: [{ tool: 'web_fetch' }],
      warnings: [
        'The limit in parentheses after its allowed tool WebFetch has no effect: all of web_fetch is allowed.',
      ],
    });
  });
});
