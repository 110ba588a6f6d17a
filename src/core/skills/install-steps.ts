import { asText, asWords, fieldsOf, isRecord } from './fields.ts';

/** One way to get programs, as the `install` of a skill names it. */
export interface InstallStep {
  /** `brew`, `node`, `go`, `uv`, `apt`, `download` and the like, in lower case. */
  readonly kind: string;
  /** What is installed: a formula, a package, a module, or the address of a download. */
  readonly target: string;
  /** Programs that it brings; empty: not said. */
  readonly bins: readonly string[];
  /** Platforms as in Node's `process.platform`; empty: all. */
  readonly os: readonly string[];
}

/** What can be run to get the programs that a skill lacks. */
export interface GettingPrograms {
  /** Whole commands for a shell, in their order. */
  readonly commands: readonly string[];
  /** Why a program that is missing gets no command, one sentence each. */
  readonly reasons: readonly string[];
}

interface Manager {
  /** The program that installs. */
  readonly program: string;
  readonly command: (target: string) => string;
}

const npm: Manager = { program: 'npm', command: (target) => `npm install --global ${target}` };
const uv: Manager = { program: 'uv', command: (target) => `uv tool install ${target}` };
const system = (program: string, words: string): Manager => ({
  program,
  command: (target) => `${process.getuid?.() === 0 ? '' : 'sudo '}${words} ${target}`,
});
const apt = system('apt-get', 'apt-get install --yes');

const MANAGERS: ReadonlyMap<string, Manager> = new Map([
  ['brew', { program: 'brew', command: (target) => `brew install ${target}` }],
  ['cask', { program: 'brew', command: (target) => `brew install --cask ${target}` }],
  ['node', npm],
  ['npm', npm],
  ['go', { program: 'go', command: (target) => `go install ${target}` }],
  ['uv', uv],
  ['pipx', { program: 'pipx', command: (target) => `pipx install ${target}` }],
  ['cargo', { program: 'cargo', command: (target) => `cargo install ${target}` }],
  ['apt', apt],
  ['apt-get', apt],
  ['dnf', system('dnf', 'dnf install --assumeyes')],
  ['pacman', system('pacman', 'pacman -S --noconfirm')],
]);

/** What every manager takes and no shell understands as more than a word. */
const PLAIN_TARGET = /^(?!.*\.\.)[a-z\d@][\w@.+/=:-]{0,79}$/iu;
const MOST_STEPS = 20;
const TARGETS = ['formula', 'cask', 'package', 'packages', 'module', 'crate', 'url'];

/** Reads `install` as OpenClaw writes it (`{kind: brew, formula: gh, bins: [gh]}`), and the short `{brew: gh}`. Never fails. */
export function readInstallSteps(value: unknown): InstallStep[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items.filter(isRecord).slice(0, MOST_STEPS).flatMap(stepOf);
}

function stepOf(item: Readonly<Record<string, unknown>>): InstallStep[] {
  const fields = fieldsOf(item);
  const kind = (
    asText(fields.get('kind')) ??
    asText(fields.get('type')) ??
    asText(fields.get('manager'))
  )?.toLowerCase();
  const facts = { bins: asWords(fields.get('bins')), os: asWords(fields.get('os')).map(platformOf) };
  if (kind === undefined) {
    const short = [...fields.keys()].find((key) => MANAGERS.has(key));
    return short === undefined ? [] : asWords(fields.get(short)).map((target) => ({ kind: short, target, ...facts }));
  }
  const key = TARGETS.find((name) => asText(fields.get(name)) !== undefined || Array.isArray(fields.get(name)));
  if (key === undefined) return [];
  const isCask = kind === 'brew' && key === 'cask';
  return asWords(fields.get(key)).map((target) => ({ kind: isCask ? 'cask' : kind, target, ...facts }));
}

function platformOf(word: string): string {
  const name = word.toLowerCase();
  return name === 'macos' ? 'darwin' : name === 'windows' ? 'win32' : name;
}

/**
 * How the programs that are missing come onto this system: for each the first step that fits the system and whose manager is
 * here. `missing`: each is a list of programs of which one is enough.
 */
export function gettingPrograms(
  steps: readonly InstallStep[],
  missing: readonly (readonly string[])[],
  { platform, has }: { readonly platform: string; readonly has: (program: string) => boolean },
): GettingPrograms {
  const commands = new Set<string>();
  const reasons = new Set<string>();
  for (const programs of missing) {
    const here = steps.filter(
      ({ os, bins }) =>
        (os.length === 0 || os.includes(platform)) &&
        (bins.length === 0 || bins.some((program) => programs.includes(program))),
    );
    const found = here.map((step) => wayOf(step, has));
    const first = found.find((way) => 'command' in way);
    if (first !== undefined) commands.add(first.command);
    else if (found.length === 0)
      reasons.add(`The skill does not say how to get ${programs.join(' or ')} on this system.`);
    for (const way of first === undefined ? found : []) if ('reason' in way) reasons.add(way.reason);
  }
  return { commands: [...commands], reasons: [...reasons] };
}

function wayOf(
  { kind, target }: InstallStep,
  has: (program: string) => boolean,
): { readonly command: string } | { readonly reason: string } {
  const isPlain = PLAIN_TARGET.test(target);
  if (kind === 'download') {
    const from = isPlain && target.startsWith('https://') ? ` from ${target}` : '';
    return { reason: `It is a download${from}, which the owner has to make by hand.` };
  }
  const manager = MANAGERS.get(kind);
  const shownKind = /^[a-z-]{1,20}$/u.test(kind) ? kind : 'of an odd name';
  if (manager === undefined) return { reason: `The way ${shownKind} to install programs is not supported.` };
  // What has a colon is an address, not a package.
  if (!isPlain || target.includes(':'))
    return { reason: `Its package for ${shownKind} has an odd name, so no command is made of it.` };
  if (!has(manager.program)) return { reason: `It is installed with ${manager.program}, which is not here.` };
  return { command: manager.command(target) };
}
