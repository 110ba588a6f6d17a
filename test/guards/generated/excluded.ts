/** Mutants that no test can kill, by name, each with the reason. */
export const EXCLUDED: Readonly<Record<string, string>> = {
  'core/security/text/look-alikes.ts withoutLookAlikes never exchanged.size === 0':
    'With nothing to exchange the rest of the function gives back the same text.',
  "core/security/paths/names.ts lies part parts[0] === ''":
    'Each of the places begins with a slash, so that only an absolute path begins with one of them.',
  'core/security/paths/pinned.ts isSameFile part a.size === b.size':
    'What changes the size changes the times too, unless both fall into one tick of the clock.',
  "core/security/enclosure/probe.ts probeSandbox never process.platform !== 'linux'":
    'The tests of the sandbox run on Linux.',
};
