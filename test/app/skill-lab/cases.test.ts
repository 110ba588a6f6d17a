import { describe, expect, test } from 'vitest';
import { lab, skillLab } from './world.ts';

const world = skillLab();

describe('a wrong file of cases costs nothing, and one sentence says what is wrong', () => {
  const WRONG: readonly (readonly [cases: string, sentence: RegExp])[] = [
    ['- { prompt: Hi., contans: x }', /cases\.yaml, case 1: "contans" is not known\. Did you mean "contains"\?/u],
    [
      '- { prompt: Hi., contains: x }\n- { name: two, contains: x }',
      /case 2 \(two\): "prompt" must be a text, but it is missing\./u,
    ],
    [
      '- { prompt: Hi., tools: [{ tool: exec, anser: x }] }',
      /case 1: "tools\.0\.answer" must be a text, but it is missing\./u,
    ],
    [
      '- { prompt: Hi., tools: [{ tool: exec, answer: x, fail: true }] }',
      /"tools\.0\.fail" is not known\. Did you mean "fails"\?/u,
    ],
    [
      '- { prompt: Hi., calls: [{ tool: exec, command: x }] }',
      /"calls\.0\.command" is not known\. There are: tool, arguments\./u,
    ],
    ['- { prompt: Hi., maxUsd: much }', /"maxUsd" must be a number above 0, but it is "much"\./u],
    [
      '- { prompt: Hi., files: { ../a: x }, contains: x }',
      /must be a path inside the workspace, such as notes\/todo\.md, but it is "\.\.\/a"\./u,
    ],
    [
      '- { prompt: Hi. }',
      /case 1: it expects nothing\. Add one of activates, calls, never, contains, maxTokens, maxUsd\./u,
    ],
    ['- Hi.', /case 1: it must be a map with "prompt" and what is expected\./u],
    ['prompt: Hi.', /cases\.yaml must be a list of cases/u],
    ['- prompt: [', /cases\.yaml is not valid YAML: .* at line 1, column \d+\./u],
    [Array(51).fill('- { prompt: Hi., contains: x }').join('\n'), /has 51 cases, and at most 50 are run\./u],
    [
      '- { prompt: First., contains: x }\n- { prompt: Hi., never: web_serch }',
      /The case "Hi\." names the tool "web_serch", which a trial does not have\. Did you mean web_search\?/u,
    ],
  ];

  test.each(WRONG)('%s', async (cases, sentence) => {
    const before = world.model.requests.length;
    const { code, out, err } = await lab(world.homeWith({ cases }), 'test', 'tea', '--json');
    expect(err).toMatch(sentence);
    expect({ code, out, asked: world.model.requests.length - before }).toEqual({ code: 1, out: '', asked: 0 });
  });

  test('no cases, and no such skill', async () => {
    const home = world.homeWith();
    const none = await lab(home, 'test', 'tea');
    expect(none).toMatchObject({
      code: 1,
      err: expect.stringContaining('There are no cases for this skill: write them into '),
    });
    const unknown = await lab(home, 'test', 'teaa');
    expect(unknown).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no skill "teaa". Did you mean tea?'),
    });
  });
});
