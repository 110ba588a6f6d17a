import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../support/command-run.ts';
import { lab, MODEL, put, skillLab, teaModel } from '../app/skill-lab/world.ts';

const world = skillLab();

describe('assistant skills test --trace', () => {
  const ASKED = 'How long does tea take?';

  /** The home and the trace of a turn that was answered in it. */
  async function saved(cases: string): Promise<{ readonly home: string; readonly file: string }> {
    const home = world.homeWith({ cases });
    world.model.setHandler(({ view }) => teaModel(view));
    expect(await runCommand(['chat', '-m', ASKED], home)).toMatchObject({ code: 0, out: 'Four minutes.\n' });
    const [turn] = JSON.parse((await runCommand(['trace', 'list', '--json'], home)).out) as { readonly turn: string }[];
    const file = join(home, 'tea.jsonl');
    expect(await runCommand(['trace', 'save', turn?.turn ?? '', '--out', file], home)).toMatchObject({ code: 0 });
    return { home, file };
  }

  test('judges the answers of a saved turn by the case with its prompt, and asks no model', async () => {
    const { home, file } = await saved(`
- { prompt: Something else., contains: no }
- { name: how long, prompt: "${ASKED}", activates: true, calls: { tool: skill, arguments: { name: tea } }, never: exec, contains: four }
`);
    const before = world.model.requests.length;
    const { code, out, err } = await lab(home, 'test', 'tea', '--trace', file);
    expect(out.split('\n').slice(1)).toEqual([
      `✓ how long  ✓ 30 tokens, $0.0300              –`,
      '1 of 1 case passed. With the skill: 30 tokens, $0.0300.',
      '',
    ]);
    expect({ code, err, asked: world.model.requests.length - before }).toEqual({ code: 0, err: '', asked: 0 });
  });

  test('says what the saved turn misses, and refuses a trace that no case is about', async () => {
    const { home, file } = await saved(`- { prompt: "${ASKED}", never: skill, contains: five, maxTokens: 29 }`);
    const failed = await lab(home, 'test', 'tea', '--trace', file);
    expect(failed.code).toBe(1);
    expect(failed.out).toContain('    with: called skill {"name":"tea"}\n');
    expect(failed.out).toContain('    with: the answer does not contain "five"\n');
    expect(failed.out).toContain('    with: took 30 tokens, more than 29\n');
    expect(await lab(home, 'test', 'tea', '--trace', file, '--model', MODEL)).toMatchObject({
      code: 2,
      err: expect.stringContaining('--trace asks no model'),
    });
    put(join(home, 'workspace/skills/tea/cases.yaml'), '- { prompt: Other., contains: x }');
    expect(await lab(home, 'test', 'tea', '--trace', file)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`No case has the prompt of the trace, which is "${ASKED}".`),
    });
  });
});
