import { describe, expect, test } from 'vitest';
import { buildSystemPrompt } from '../../src/core/agent/prompt/layers.ts';
import { hitOf } from '../../src/core/memory/search/hit.ts';

const host = { os: 'Linux 6', runtime: 'Node 24', workspace: '/home/a/workspace', readRoots: [] };
const none = { host, shows: null, files: [], memory: null, activeSkills: null, skillsIndex: null };
const layers = (parts: object): string =>
  buildSystemPrompt({ ...none, ...parts })
    .map(({ text }) => text)
    .join('\n');
const row = { id: 1, source: 'memory', session: null, turn: null, at: null, role: null, untrusted: 0 };

describe('a text of emoji is cut between them', () => {
  test.each<[string, (text: string) => string]>([
    ['USER.md in the prompt', (text) => layers({ files: [{ name: 'USER.md', text }] })],
    ['USER.md in a light prompt', (text) => layers({ light: true, files: [{ name: 'USER.md', text }] })],
    ['what memory_search shows', (text) => hitOf({ ...row, text }, 1, []).snippet],
  ])('%s', (_title, entrance) => {
    // One of both begins its emoji at odd places.
    for (const lead of ['', 'x']) {
      const shown = entrance(lead + '😀'.repeat(30_000));
      expect(shown).toContain('😀');
      expect(shown).not.toContain('\ufffd');
      expect(shown.isWellFormed()).toBe(true);
    }
  });
});
