import type { IgnoreRules } from '../../../security/paths/ignored.ts';
import { globMatcher } from './glob-pattern.ts';

/** More rules of one file are passed over. */
const MOST_RULES = 2_000;
/** A pattern with more stars is passed over: matching it may take very long. */
const MOST_STARS = 8;

interface Rule {
  readonly matches: (path: string) => boolean;
  readonly isNegated: boolean;
  readonly onlyFolders: boolean;
}

/**
 * The rules of a `.gitignore`, as git reads it: `#` comments, `!` takes back, `/` at the end names folders only, a `/`
 * before that binds a pattern to the folder of the file. Never fails; a line that cannot be understood counts for nothing.
 */
export function gitIgnoreRules(text: string): IgnoreRules {
  const rules = text
    .replace(/^\uFEFF/u, '')
    .split(/\r?\n/u)
    .slice(0, MOST_RULES)
    .flatMap(ruleOf)
    .toReversed();
  return (path, isFolder) => {
    // The last rule that matches decides.
    const found = rules.find((rule) => (isFolder || !rule.onlyFolders) && rule.matches(path));
    return found === undefined ? undefined : !found.isNegated;
  };
}

function ruleOf(line: string): Rule[] {
  if (line.startsWith('#')) return [];
  const isNegated = line.startsWith('!');
  // Blanks at the end count only behind a backslash.
  const given = (isNegated ? line.slice(1) : line).replace(/(?<!\\)[ \t]+$/u, '');
  const onlyFolders = given.endsWith('/');
  const pattern = onlyFolders ? given.slice(0, -1) : given;
  const stars = pattern.split('*').length - 1;
  if (pattern === '' || stars > MOST_STARS) return [];
  const isTopLevel = pattern.lastIndexOf('/') === 0;
  try {
    // Braces mean nothing to git.
    const matches = globMatcher(pattern.replaceAll(/(?<!\\)[{}]/gu, String.raw`\$&`));
    // `globMatcher` takes a name without a slash as one in any folder.
    const bound = (path: string): boolean => !path.includes('/') && matches(path);
    return [{ matches: isTopLevel ? bound : matches, isNegated, onlyFolders }];
  } catch {
    return [];
  }
}
