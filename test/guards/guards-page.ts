import { OPERATORS } from './generated/operators.ts';
import { WIDE_OPERATORS } from './generated/wide-operators.ts';
import { EXCLUDED } from './generated/excluded.ts';
import { GUARDS, SECTIONS } from './guards.ts';
import { GENERATED } from './mutants.ts';

/** docs/guards.md. */
export function guardsPage(): string {
  const introduction = INTRODUCTION.replace('BY_HAND', countOf(GUARDS)).replace('GENERATED', countOf(GENERATED));
  const sections = SECTIONS.map(({ title, guards }) => {
    const rows = guards.map(({ name, file, holds }) => `| \`${name}\` | \`${file}\` | ${holds} |`);
    return [`## ${title}`, '', '| guard | in `src` | what it holds |', '|---|---|---|', ...rows, ''].join('\n');
  });
  return [`${introduction}\n`, ...sections, generatedSection()].join('\n');
}

function generatedSection(): string {
  const operators = [...OPERATORS, ...WIDE_OPERATORS].map(({ name, does }) => `| \`${name}\` | ${does} |`);
  const files = [...Map.groupBy(GENERATED, ({ file }) => file)].map(([file, mutants]) => {
    const counts = [...Map.groupBy(mutants, ({ operator }) => operator)].map(([name, of]) => `${name} ${of.length}`);
    return `| \`${file}\` | ${mutants.length} | ${counts.toSorted().join(', ')} |`;
  });
  const excluded = Object.entries(EXCLUDED).map(
    ([name, reason]) => `| \`${name.replaceAll('|', '\\|')}\` | ${reason} |`,
  );
  return [
    '## Guards that operators find',
    '',
    '| operator | what is lost |',
    '|---|---|',
    ...operators,
    '',
    '| in `src` | guards | by operator |',
    '|---|---|---|',
    ...files,
    '',
    'No test can tell these from the code as it is, so they are left out:',
    '',
    '| what would be lost | why it makes no difference |',
    '|---|---|',
    ...excluded,
    '',
  ].join('\n');
}

function countOf(guards: readonly { readonly file: string }[]): string {
  return `${guards.length} in ${new Set(guards.map(({ file }) => file)).size} files`;
}

const INTRODUCTION = `# Guards

A guard is a place in the code that keeps some harm from happening. The mutation run takes out one guard at a time and
wants a test to fail: a guard without which all of its tests pass fails the run.

Most guards are found by operators over the syntax tree of the files in \`test/guards/generated/scopes.ts\`: GENERATED.
A condition that refuses is made false, a list of names is emptied, a limit becomes infinite. The last section counts them,
so that a guard that went away shows in this page. A file or folder has its tests in the same table; one of them has to fail.

The others are written down, because an operator cannot say them: BY_HAND. Such a guard is the text to look for and
what to put in its place so that it is gone, in \`test/guards/list/\`, one file for each section; each of its tests has to fail.

This page is made from both and compared with them by \`test/guards/guards.test.ts\`, which is part of \`npm test\`
and also says when a guard is not found in its file any more. After a change:

    npx vitest run test/guards/guards.test.ts -u

The mutation run works in copies of the tree. It needs Linux with bubblewrap: a test that is skipped finds nothing out.

    npm run test:long -- test/guards                       # all of them
    GUARDS=paths-,security/fetch npm run test:long -- test/guards   # parts of names or files, with commas
    SAMPLE=200 SEED=7 npm run test:long -- test/guards     # some of them, of each file one before a second of any
    AT_ONCE=4 npm run test:long -- test/guards             # beside each other; 2 otherwise

A new guard comes with a fast test that fails without it: in a file of the table the operators find it; elsewhere, or when
none does, it gets a row in the list. A guard that nothing can kill is either not tested or not needed.`;
