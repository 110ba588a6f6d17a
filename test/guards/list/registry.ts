import { guardsIn, type Guard } from '../guard.ts';

const REGISTRY = 'tools/registry.test.ts';
const RUN = 'tools/registry-run.test.ts';
const TAINTED = 'tools/tainted-call.test.ts';

/** Which calls of tools run, and what of their results is seen. */
export const REGISTRY_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'tools/registry/registry.ts',
    [REGISTRY],
    [
      {
        name: 'registry-arguments',
        holds: 'Arguments that do not fit the schema of a tool do not reach it.',
        find: 'return parsed.ok ? { tool, params: parsed.params } : { problem: parsed.problem, isMisfit: true };',
        replace: 'return { tool, params: parsed.ok ? parsed.params : {} };',
        tests: ['tools/arguments.test.ts'],
      },
      {
        name: 'registry-taint',
        holds: 'What taint demands a yes for is asked about.',
        find: 'return withTaint(decision, declared, context.conversation.taint);',
        replace: 'return decision;',
        tests: [TAINTED],
      },
      {
        name: 'registry-denied-runs',
        holds: 'A denied call does not run.',
        find: 'return refusal(tool, `Refused: ${decision.reason}`);',
        replace: 'return this.#execute(ready, context, options);',
      },
      {
        name: 'registry-asked-runs',
        holds: 'A call that needs a yes does not run without one.',
        find: 'return refusal(tool, sentences(`Not done: ${asked.reason}`, decision.reason));',
        replace: 'return this.#execute(ready, context, options);',
      },
      {
        name: 'registry-intent-first',
        holds: 'The start of a call with effects is on the tape before it runs.',
        find: "if (tool.effect !== 'none') await options.beforeEffect?.(tool.effect);",
        replace: "if (tool.effect !== 'none') void options.beforeEffect?.(tool.effect);",
        tests: [RUN],
      },
      {
        name: 'registry-shows',
        holds: "A tool that shows the owner's files is asked about in a group.",
        find: '?? shownToGroup(tool.shows?.(params, context), context.person)',
        replace: '?? null',
        tests: [TAINTED],
      },
    ],
  ),
  ...guardsIn(
    'tools/registry/policy.ts',
    [REGISTRY],
    [
      {
        name: 'policy-whole-names',
        holds: 'A pattern stands for whole names, not for parts of them.',
        find: "return new RegExp(`^${parts.join('.*')}$`, 'u').test(name);",
        replace: "return new RegExp(parts.join('.*'), 'u').test(name);",
      },
    ],
  ),
  ...guardsIn(
    'tools/registry/skill-limits.ts',
    ['e2e/skills.test.ts'],
    [
      {
        name: 'skill-limits-readers',
        holds: 'A skill that limits itself reads its own folder and no other.',
        find: 'skills.folders.some((folder) => within(folder, normalize(path)))',
        replace: 'skills.folders.length > 0',
        tests: ['tools/skill-limits.test.ts'],
      },
      {
        name: 'skill-limits-climb',
        holds: 'A path that climbs out of the folder of a skill is not taken for one in it.',
        find: 'within(folder, normalize(path))',
        replace: 'path.startsWith(folder)',
        tests: ['tools/skill-limits.test.ts'],
      },
      {
        name: 'skill-limits-prefix',
        holds: 'A command that a skill may run only with a prefix is held to it.',
        find: "typeof command === 'string' && runsOnly(command, prefixes)) return null;",
        replace: "typeof command === 'string') return null;",
        tests: ['tools/skill-limits.test.ts'],
      },
      {
        name: 'skill-limits-others',
        holds: 'A tool that the active skill does not name is not called.',
        find: 'const rules = skills.allowed.filter((rule) => rule.tool === tool);',
        replace: 'const rules = skills.allowed;',
      },
    ],
  ),
  ...guardsIn(
    'tools/registry/tainted-call.ts',
    [TAINTED],
    [
      {
        name: 'tainted-call-asks',
        holds: 'A call that taint forbids is asked about.',
        find: "if (decision.decision === 'allow') return own;",
        replace: "if (decision.decision === 'allow' || own.decision === 'allow') return own;",
      },
      {
        name: 'tainted-call-not-always',
        holds: 'Nothing is allowed for good while strangers have a say.',
        find: 'request: { ...request, reason: both } };',
        replace: 'request: { ...own.request, reason: both } };',
        tests: ['tools/ask-about.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'tools/registry/ask-about.ts',
    ['tools/ask-about.test.ts'],
    [
      {
        name: 'asked-unknown',
        holds: 'A call of which it cannot be told what a yes would allow is not asked about.',
        find: 'const answer = hash === null ? UNKNOWN : await ask({ ...request, hash }, context);',
        replace: "const answer = await ask({ ...request, hash: hash ?? '' }, context);",
      },
      {
        name: 'asked-looks-again',
        holds: 'What runs is what was allowed, down to the files that it names.',
        find: 'const changed = async (): Promise<boolean> => (await boundHash(call, context)) !== hash;',
        replace: 'const changed = async (): Promise<boolean> => false;',
      },
    ],
  ),
  ...guardsIn(
    'tools/registry/arguments.ts',
    ['tools/arguments.test.ts'],
    [
      {
        name: 'arguments-not-repaired',
        holds: 'Text that is not JSON is refused, never guessed at.',
        find: "given = text.trim() === '' ? {} : JSON.parse(text);\n  } catch {",
        replace:
          "given = text.trim() === '' ? {} : JSON.parse(text);\n  } catch {\n    return { ok: true, params: {} };",
      },
    ],
  ),
];
