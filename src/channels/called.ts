/** Characters of a bot's name below which it is too often a word like others. */
const SHORTEST_NAME = 3;

/** Whether a text begins with one of these names: `Jeeves, what now?` */
export function isCalled(text: string, names: readonly string[]): boolean {
  const begun = text.trimStart().toLowerCase();
  return names
    .filter((name) => name.length >= SHORTEST_NAME)
    .some((name) => begun.startsWith(name.toLowerCase()) && /^(?:[\s,:;!?.]|$)/u.test(begun.slice(name.length)));
}
