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
      {
        name: 'tape-reset-taint',
        holds: 'Text of strangers does not get rid of its mark by asking for a fresh start.',
        find: '...(during === null ? {} : flags(during)) };',
        replace: '};',
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
      {
        name: 'archive-nobody-to-ask',
        holds: 'Where no one can be asked the memory stays as it is.',
        find: 'const asked = confirm === null ? false :',
        replace: 'const asked = confirm === null ? true :',
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
      {
        name: 'search-no-results',
        holds: 'Results of tools are not found again.',
        find: "if (entry.kind !== 'message' || entry.role === 'tool') return [];",
        replace:
          "if (entry.kind !== 'message') return [];\n  if (entry.role === 'tool') return [{ key: entry.id, source: 'session', session, turn: entry.turn, at: entry.at, role: 'assistant', untrusted, text: entry.output }];",
      },
    ],
  ),
  ...guardsIn(
    'storage/untrusted-files.ts',
    ['storage/untrusted-files.test.ts'],
    [
      {
        name: 'origins-durable',
        holds: 'A mark survives a crash.',
        find: 'await this.#append({ v: 1, hash, name: basename(name) });',
        replace: '',
      },
      {
        name: 'origins-span-died',
        holds: 'A process that died while such a command ran leaves its mark.',
        find: 'await this.#append({ v: 1, span: id, from });',
        replace: '',
      },
    ],
  ),
];
