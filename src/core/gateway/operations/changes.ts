/** What may be different after an operation that changes something; undefined: nothing that is shown to people. */
export function changedBy(name: string): string | undefined {
  return CHANGES.find(([begin]) => name.startsWith(begin))?.[1];
}

/** By the beginning of an operation's name, what is different after it. */
const CHANGES: readonly (readonly [string, string])[] = [
  ['memory', 'memory'],
  ['files', 'files'],
  ['skills', 'skills'],
  // The configuration says which skills are used; commands that change their files ask for it too.
  ['configReload', 'skills'],
  ['pair', 'people'],
  ['sessions', 'sessions'],
  ['outbox', 'mail'],
  ['inbox', 'mail'],
];
