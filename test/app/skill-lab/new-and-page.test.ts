import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../../support/command-run.ts';
import { filesOf, lab, PRICED, put, skillLab } from './world.ts';

const world = skillLab();

describe('assistant skills new', () => {
  test('makes a skill whose cases can be run at once', async () => {
    const home = world.homeWith();
    const made = await lab(home, 'new', 'coffee', '--description', 'Coffee: which beans, how fine.');
    expect(made).toMatchObject({ code: 0, err: '' });
    expect(made.out).toContain('workspace/skills/coffee: SKILL.md and cases.yaml');
    expect(await lab(home, 'check', 'coffee')).toMatchObject({ code: 0 });
    world.model.setHandler(({ view }) => {
      if (view.lastUserText.includes('17 times 3')) return '51';
      const knows = view.system.includes('Coffee: which beans, how fine.') && view.toolResults.length === 0;
      return knows ? { calls: [{ name: 'skill', arguments: { name: 'coffee' } }] } : 'Done.';
    });
    const { code, out } = await lab(home, 'test', 'coffee');
    expect(out).toContain('2 of 2 cases passed.');
    expect(code).toBe(0);
  });

  test('replaces nothing, and takes no name that is not one', async () => {
    const home = world.homeWith();
    const before = filesOf(join(home, 'workspace'));
    expect(await lab(home, 'new', 'tea')).toMatchObject({
      code: 1,
      err: expect.stringContaining('The workspace has a skill tea already.'),
    });
    expect(await lab(home, 'new', '../tea')).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'must be lower case letters, digits and hyphens, at most 64, but "../tea" was given.',
      ),
    });
    expect(filesOf(join(home, 'workspace'))).toEqual(before);
  });
});

test('docs/skill-lab.md shows what the commands print', async () => {
  const page = readFileSync('docs/skill-lab.md', 'utf8');
  const shown = [...page.matchAll(/^```text\n\$ assistant (?<line>.*)\n(?<printed>[\s\S]*?)^```$/gmu)];
  const cases = /^```yaml\n(?<cases>[\s\S]*?)^```$/mu.exec(page)?.groups?.['cases'] ?? '';
  const mini = 'openai/gpt-5-mini';
  const home = world.homeWith({ settings: { agent: { model: mini }, models: { [mini]: PRICED } } });
  const tea = join(home, 'workspace/skills/tea');
  rmSync(tea, { recursive: true });
  put(join(home, 'workspace/notes/guests.md'), "Three guests at four o'clock.");
  const kettle = (cups: number) => ({ name: 'exec', arguments: { command: `kettle --cups ${cups}` } });
  const look = { name: 'read_file', arguments: { path: 'notes/guests.md' } };
  const list = { name: 'write_file', arguments: { path: 'notes/today.md', content: 'Green tea, three cups.' } };
  const remind = { action: 'add', kind: 'message', when: 'in 2m', text: 'The tea is ready.' };
  world.model.setHandler(({ view: { lastUserText: asked, system, toolResults } }) => {
    const knows = system.includes('How tea is made in this house.');
    const read = toolResults.map(({ text }) => text).join('\n');
    if (asked.includes('remind me')) {
      if (read !== '') return 'Three cups are on the list. I remind you in two minutes.';
      return { calls: [look, list, { name: 'cron', arguments: remind }] };
    }
    if (asked.includes('kettle')) {
      if (read.includes('The kettle is on.')) return 'It is on.';
      return { calls: [read.includes('Three guests') ? kettle(3) : knows ? look : kettle(2)] };
    }
    if (knows && read === '') return { calls: [{ name: 'skill', arguments: { name: 'tea' } }] };
    return knows && asked.includes('green') ? 'It takes two minutes.' : 'With hot water.';
  });
  expect(shown.map(({ groups }) => groups?.['line']?.split(' ')[1])).toEqual(['new', 'try', 'test']);
  for (const { groups: { line = '', printed = '' } = {} } of shown) {
    const words = [...line.matchAll(/"(?<quoted>[^"]*)"|\S+/gu)].map(([word, quoted]) => quoted ?? word);
    const { out, err } = await runCommand(words, home);
    const whole = (err + out).replaceAll(home, '~/.assistant').replaceAll('npm run assistant -- ', 'assistant ');
    expect(whole).toBe(printed);
    put(join(tea, 'cases.yaml'), cases);
  }
});
