import { GUARDS, ROOMS } from './guards.ts';

/** docs/guards.md. */
export function guardsPage(): string {
  const files = new Set(GUARDS.map(({ file }) => file));
  const sections = ROOMS.map(({ title, guards }) => {
    const rows = guards.map(({ name, file, holds }) => `| \`${name}\` | \`${file}\` | ${holds} |`);
    return [`## ${title}`, '', '| guard | in `src` | what it holds |', '|---|---|---|', ...rows, ''].join('\n');
  });
  return [`${INTRODUCTION.replace('COUNT', `${GUARDS.length} guards in ${files.size} files`)}\n`, ...sections].join(
    '\n',
  );
}

const INTRODUCTION = `# Guards

Each line of this page is a place in the code that keeps some harm from happening: COUNT. A guard
is the text to look for and what to put in its place so that it is gone; the list is in \`test/guards/list/\`, one file for
each section. This page is made from it and compared with it by \`test/guards/guards.test.ts\`, which is part of \`npm test\`
and also says when a guard is not found in its file any more. After a change of the list:

    npx vitest run test/guards/guards.test.ts -u

The mutation run copies the tree into a folder of its own, takes out one guard at a time, and wants a test to fail: a guard
without which all of its tests pass fails the run. It needs Linux with bubblewrap: a test that is skipped finds
nothing out.

    npm run test:long -- test/guards                       # all of them
    GUARDS=paths-,security/fetch npm run test:long -- test/guards   # parts of names or files, with commas
    AT_ONCE=4 npm run test:long -- test/guards             # beside each other; 2 otherwise

Whoever adds a wall adds its guard here, and a fast test that fails without it. A guard that nothing can kill is either not
tested or not needed.`;
