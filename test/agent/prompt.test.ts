import { describe, expect, test } from 'vitest';
import { BOOTSTRAP_FILES, buildSystemPrompt, type SystemPromptParts } from '../../src/core/agent/prompt/layers.ts';

function parts(changes: Partial<SystemPromptParts> = {}): SystemPromptParts {
  return {
    host: { os: 'Linux 6', runtime: 'Node 24', workspace: '/home/a/workspace', readRoots: [] },
    shows: 'Write Markdown.',
    files: [{ name: 'SOUL.md', text: 'be kind' }],
    others: [{ name: 'memory', text: '# Memory\n\n- The owner is called Ming.' }],
    activeSkills: '## tidy\n\nKeep things tidy.',
    skillsIndex: '<skills></skills>',
    ...changes,
  };
}

const textOf = (changes: Partial<SystemPromptParts> = {}): string =>
  buildSystemPrompt(parts(changes))
    .map(({ text }) => text)
    .join('\n\n---\n\n');

describe('the system prompt', () => {
  test('has five layers, from what changes least to what changes most', () => {
    expect(buildSystemPrompt(parts()).map(({ name }) => name)).toEqual([
      'identity',
      'SOUL.md',
      'memory',
      'active skills',
      'skills',
    ]);
    expect(textOf()).toMatch(
      /^# Assistant[\s\S]*\n\n---\n\n# SOUL\.md\n\nbe kind\n\n---\n\n# Memory\n\n- The owner is called Ming\.\n\n---\n\n# Active Skills\n\n[\s\S]*\n\n---\n\n# Skills\n\n[\s\S]*<skills><\/skills>$/u,
    );
  });

  test('is the same bytes for the same parts', () => {
    expect(textOf()).toBe(textOf());
  });

  test('leaves out layers that have nothing to say', () => {
    const empty = { files: [], others: [{ name: 'memory', text: '' }], activeSkills: null, skillsIndex: null };
    expect(buildSystemPrompt(parts(empty)).map(({ name }) => name)).toEqual(['identity']);
  });

  test('says where it runs and how the channel shows text, unless that differs from message to message', () => {
    expect(textOf()).toContain('(Linux 6, Node 24)');
    expect(textOf()).toContain('Your workspace is /home/a/workspace');
    expect(textOf()).toContain('in the language of the person. Write Markdown.\n');
    expect(textOf({ shows: null })).toContain('Write simple Markdown, which also reads well as plain text.\n');
  });

  test('asks for one form of text alone: what the channel shows', () => {
    const shows = 'Write plain text.';
    expect(textOf({ shows })).toContain(shows);
    expect(textOf({ shows })).not.toContain('Markdown');
  });

  test('promises no chat to work whose result goes elsewhere', () => {
    const light = textOf({ light: true, shows: null });
    expect(light).toContain('The message that gives you a task says what becomes of your last text.');
    expect(light).not.toMatch(/sent to the chat|Markdown/u);
  });

  test('skips empty files and cuts long ones with a notice', () => {
    const text = textOf({
      files: [
        { name: 'AGENTS.md', text: '  \n' },
        { name: 'SOUL.md', text: 'x'.repeat(30_000) },
      ],
    });
    expect(text).not.toContain('# AGENTS.md');
    expect(text).toContain(
      '[SOUL.md is cut here: it has 30000 characters, 20000 of them are shown; read_file shows the rest.]',
    );
  });

  test('holds 60,000 characters of files and names each that did not fit', () => {
    const names = BOOTSTRAP_FILES;
    const text = textOf({ files: names.map((name) => ({ name, text: 'x'.repeat(19_000) })) });
    expect(text.match(/x/gu)?.length).toBeLessThan(60_100);
    expect(text).toContain('[TOOLS.md is cut here: it has 19000 characters, 3000 of them are shown;');
    const full = textOf({ files: names.map((name) => ({ name, text: 'x'.repeat(30_000) })) });
    expect(full).toContain('[TOOLS.md is cut here: it has 30000 characters, 0 of them are shown;');
  });

  test('never cuts a character in two', () => {
    const text = textOf({ files: [{ name: 'SOUL.md', text: `${'x'.repeat(19_999)}😀 and more` }] });
    expect(text.isWellFormed()).toBe(true);
  });
});
