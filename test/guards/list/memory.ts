import { guardsIn, type Guard } from '../guard.ts';

const TAINT_SESSION = 'agent/taint-session.test.ts';

/** What is remembered, what is found again, and whose it is. */
export const MEMORY_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'agent/turn/provenance.ts',
    [TAINT_SESSION],
    [
      {
        name: 'given-not-the-model',
        holds: 'An address that the model wrote itself does not count as given.',
        find: 'hear(said, entry);',
        replace:
          "hear(said, entry);\n      texts.push(...entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])));",
      },
      {
        name: 'given-not-failures',
        holds: 'A name that a failure mentions does not count as given.',
        find: 'else if (!entry.isError && mayGive(entry, said))',
        replace: 'else if (mayGive(entry, said))',
      },
      {
        name: 'given-not-summaries',
        holds: 'After a summary of strangers no result counts as clean.',
        find: 'let isClean = summary?.untrusted !== true;',
        replace: 'let isClean = true;',
        tests: ['agent/provenance.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'agent/commands/session-commands.ts',
    ['agent/session-commands.test.ts'],
    [
      {
        name: 'tape-search-taint',
        holds: 'What is found on a tape keeps its taint.',
        find: "return { ...answer(lines.join('\\n')), ...taintOf(found) };",
        replace: "return answer(lines.join('\\n'));",
      },
    ],
  ),
  ...guardsIn(
    'agent/consolidation/memory-change.ts',
    ['agent/consolidation/memory-change.test.ts'],
    [
      {
        name: 'archive-shrinks',
        holds: 'A model does not lose most of the memory without a yes.',
        find: "if (replaced.why === 'shrinks') return { ...change, why: 'shrinks' };",
        replace: "if (replaced.why === 'shrinks') return 'changed';",
      },
    ],
  ),
  ...guardsIn(
    'memory/search/scope.ts',
    ['memory/search-by-question.test.ts', 'memory/meaning.test.ts'],
    [
      {
        name: 'search-listed-scope',
        holds:
          'What was said in a time, and what means the same, is found only in the conversations that the search may see.',
        find: "if (scope === 'all') return",
        replace: "if (scope !== 'none') return",
      },
    ],
  ),
  ...guardsIn(
    'memory/meaning/vectors.ts',
    ['memory/meaning.test.ts'],
    [
      {
        name: 'meaning-scope',
        holds: 'Vectors of texts outside of the conversations and times of a search are not compared.',
        find: 'isAllowed: this.#allowed(query)',
        replace: 'isAllowed: undefined',
      },
    ],
  ),
  ...guardsIn(
    'memory/search/find.ts',
    ['memory/search.test.ts'],
    [
      {
        name: 'search-scope',
        holds: 'A search finds nothing outside of the conversations that it may see.',
        find: "const match = query.scope === 'all' ? texts :",
        replace: "const match = query.scope !== 'none' ? texts :",
      },
      {
        name: 'search-empty-scope',
        holds: 'A search that may see no conversation finds nothing.',
        find: 'query.limit < 1 || query.scope.length === 0) return [];',
        replace: 'query.limit < 1) return [];',
      },
    ],
  ),
  ...guardsIn(
    'memory/search/tape-text.ts',
    ['memory/search.test.ts'],
    [
      {
        name: 'search-repeated',
        holds: "What the model said after strangers' words came in is found as theirs.",
        find: 'untrusted ||= said.untrusted === true;',
        replace: 'untrusted = said.untrusted === true;',
      },
    ],
  ),
];
