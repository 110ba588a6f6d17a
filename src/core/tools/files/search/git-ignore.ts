import { globMatcher } from './glob-pattern.ts';

/** Whether a path below the folder of a `.gitignore` is ignored; undefined when the file says nothing of it. */
type IgnoreRules = (path: string, isFolder: boolean) => boolean | undefined;

interface Layer {
  readonly rules: IgnoreRules;
  /** The path from the file's folder to the base of the walk, with a slash at its end; empty when it lies below the base. */
  readonly lead: string;
  /** Characters that the paths of the walk have before their part below the file's folder. */
  readonly skip: number;
}

/** What the `.gitignore` files of a folder and of those above it say together: the nearest one that names a path decides. */
export class Ignored {
  /** The nearest file first. */
  readonly #layers: readonly Layer[];

  constructor(layers: readonly Layer[] = []) {
    this.#layers = layers;
  }

  /** Adds the file of a folder of the walk; `below`: the folder's path below the base. */
  with(text: string, below: string): Ignored {
    return this.#and(text, { lead: '', skip: below === '' ? 0 : below.length + 1 });
  }

  /** Adds the file of a folder above the base; `down`: the path from that folder to the base. */
  withAbove(text: string, down: string): Ignored {
    return this.#and(text, { lead: `${down}/`, skip: 0 });
  }

  /** `here`: a path below the base of the walk. */
  has(here: string, isFolder: boolean): boolean {
    return this.#decide(isFolder, ({ lead, skip }) => lead + here.slice(skip));
  }

  /** Whether the base, or a folder above it, is ignored; `rest`: what follows the folder in the path of the base. */
  hasFolderAbove(rest: string): boolean {
    return this.#decide(true, ({ lead }) => lead.slice(0, Math.max(0, lead.length - 1 - rest.length)));
  }

  #decide(isFolder: boolean, pathFor: (layer: Layer) => string): boolean {
    for (const layer of this.#layers) {
      const path = pathFor(layer);
      const verdict = path === '' ? undefined : layer.rules(path, isFolder);
      if (verdict !== undefined) return verdict;
    }
    return false;
  }

  #and(text: string, place: Omit<Layer, 'rules'>): Ignored {
    return new Ignored([{ rules: gitIgnoreRules(text), ...place }, ...this.#layers]);
  }
}

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
function gitIgnoreRules(text: string): IgnoreRules {
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
