import { posix } from 'node:path';
import { FETCHED, SUBSTITUTION, unquoted } from './placeholders.ts';
import { descend, type Scope } from './scope.ts';
import { reasonIfLost } from './targets.ts';

const INTERPRETERS = /^(?:perl|python|python[23](?:\.\d+)?|ruby|node|deno|php|lua)$/;
const CODE_OPTIONS = new Set(['-e', '-E', '-c', '-r', '--eval']);
const STANDARD_INPUT = /^\/(?:dev\/stdin|dev\/fd\/0|proc\/self\/fd\/0)$/;
const SUBSTITUTED = new RegExp(`${SUBSTITUTION}(\\d+)${SUBSTITUTION}`);

/** Whether a program runs code of another language. */
export function isInterpreter(name: string): boolean {
  return INTERPRETERS.test(name);
}

/** What lies in a file that the command wrote itself, in every folder it may mean; none for other files. */
export function writtenTo(path: string, scope: Scope): readonly string[] {
  const { files, substitutions, run } = scope.shared;
  const number = SUBSTITUTED.exec(path)?.[1];
  if (number !== undefined) {
    const script = substitutions[Number(number)]?.script;
    return script === undefined ? [] : [run(script, descend(scope))];
  }
  if (STANDARD_INPUT.test(path)) return [scope.stdin];
  return scope.directories.flatMap((directory) => files.get(posix.resolve(directory, path)) ?? []);
}

/** What an interpreter of another language is given to run, as far as the command itself says. */
export interface Code {
  readonly text: string;
  /** It came from a server, through a pipe or a file that the command fetched. */
  readonly isFetched: boolean;
  /** Shell commands in what stands on the command line: only calls with a plain string are seen. */
  readonly shell: readonly string[];
  /** Why what stands there must not run. */
  readonly refusal: string | undefined;
}

const RUNS_SHELL =
  /\b(?:system|popen|exec|execSync|run|call|check_output|check_call|shell_exec)\s*\(\s*(["'])(.{1,2000}?)\1/g;
/** Words with which such code deletes, and texts in it that may be places or patterns. */
const DELETES =
  /\b(?:rmtree|rm(?:dir)?Sync|rm_rf|rm_r|remove_tree|unlink(?:Sync)?|rmdir|os\.remove|removedirs|File\.delete|rm)\b/u;
const PATH_OPTIONS = /(["'`])(\/(?!["'`]\.)[^"'`\n]{0,500})\1|<(\/[^<>\n]{0,500}\*[^<>\n]{0,500})>/gu;
const FORKS_ON = /\b(?:while|for|loop|until)\b[^]*\bfork\b|\bfork\b[^]*\b(?:while|for|loop|until)\b/;

export function codeOf(name: string, args: readonly string[], scope: Scope): Code {
  if (!isInterpreter(name)) return { text: '', isFetched: false, shell: [], refusal: undefined };
  const inline = args.filter((_, i) => CODE_OPTIONS.has(args[i - 1] ?? '')).join('\n');
  if (!args.some((arg) => CODE_OPTIONS.has(arg))) {
    const program = args.find((arg) => !arg.startsWith('-'));
    const text = program === undefined ? scope.stdin : writtenTo(program, scope).join('\n');
    return { text, isFetched: text.includes(FETCHED), shell: [], refusal: undefined };
  }
  const places = DELETES.test(inline)
    ? [...inline.matchAll(PATH_OPTIONS)].map(([, , text, glob]) => text ?? glob ?? '')
    : [];
  const lost = reasonIfLost(
    places.map((place) => unquoted(place.replaceAll(/\s/gu, '_'))),
    scope.directories,
  );
  const isBomb = name !== 'node' && FORKS_ON.test(inline);
  return {
    text: inline,
    isFetched: false,
    shell: Array.from(inline.matchAll(RUNS_SHELL), ([, , code = '']) => code),
    refusal: isBomb ? 'it is a fork bomb' : lost === undefined ? undefined : `it would delete ${lost}`,
  };
}
