import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { isActive } from '../../src/extensions/heartbeat/active-hours.ts';
import { openTasks, shownTasks } from '../../src/extensions/heartbeat/open-tasks.ts';

describe('what is open in HEARTBEAT.md', () => {
  test.each([
    ['an empty file', ''],
    ['white space', ' \n\n\t\n'],
    ['headings', '# Open tasks\n\n## Daily\n###'],
    ['comments, also over lines and never closed', '<!-- one -->\n<!-- two\n- [ ] three -->\n<!-- - [ ] four'],
    ['checked boxes, with what is indented under them', '- [x] done\n  - and how\n* [X] done\n1. [x] done\n+ [✓] done'],
    ['boxes and list marks without words, rules, fences', '- [ ]\n-\n* \n---\n***\n1.\n```\n```'],
  ])('is nothing with %s', (_what, text) => {
    expect(openTasks(text)).toBe('');
  });

  test('is nothing in the file that comes along', async () => {
    expect(openTasks(await readFile('workspace-template/HEARTBEAT.md', 'utf8'))).toBe('');
  });

  test.each([
    ['- [ ] water the plants', '- [ ] water the plants'],
    ['- [x] done\n  - a part of it\n- [ ] open\n  - a part of it', '- [ ] open\n  - a part of it'],
    ['# Tasks\r\n\r\nCheck the backup.\r\n', 'Check the backup.'],
    ['- plain\n<!-- no -->\n1. numbered', '- plain\n1. numbered'],
    ['#hashtag is a word', '#hashtag is a word'],
  ])('is what was not checked: %j', (text, open) => {
    expect(openTasks(text)).toBe(open);
  });

  test('is shown to a cheap look up to a length, by whole lines, whatever the script', () => {
    const many = Array.from({ length: 500 }, (_, n) => `- [ ] task ${n}`).join('\n');
    for (const text of [many, '任务'.repeat(3_000), '😀'.repeat(3_000)]) {
      const shown = shownTasks(text);
      expect(Buffer.byteLength(shown)).toBeLessThan(2_900);
      expect(shown).toMatch(/\n\[This is only the beginning of HEARTBEAT\.md\.\]$/u);
      expect(shown).not.toContain('�');
    }
    expect(shownTasks(many)).toMatch(/- \[ \] task \d+\n\[/u);
    expect(shownTasks('short')).toBe('short');
  });
});

describe('active hours', () => {
  const at = (time: string): number => Date.parse(`2027-06-01T${time}:00Z`);

  test.each([
    ['08:00-22:00', '05:59', false],
    ['08:00-22:00', '06:00', true],
    ['08:00-22:00', '19:59', true],
    ['08:00-22:00', '20:00', false],
    ['22:00-06:00', '21:00', true],
    ['22:00-06:00', '03:59', true],
    ['22:00-06:00', '04:00', false],
    ['00:00-24:00', '12:00', true],
    ['09:00-09:00', '03:00', true],
    [null, '03:00', true],
  ])('%s in Vienna at %s UTC: %s', (hours, time, active) => {
    expect(isActive(hours, at(time), 'Europe/Vienna')).toBe(active);
  });
});
