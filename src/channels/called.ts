/** Characters of a bot's name below which it is too often a word like others. */
const SHORTEST_NAME = 3;

/** Whether a text begins with a bot's name: `Jeeves, what now?` */
export function isCalled(text: string, name: string): boolean {
  if (name.length < SHORTEST_NAME) return false;
  const begun = text.trimStart().toLowerCase();
  return begun.startsWith(name.toLowerCase()) && /^(?:[\s,:;!?.]|$)/u.test(begun.slice(name.length));
}
