import { UNKNOWN, unquoted, withoutTraces } from './marks.ts';
import { isRawDevice, ruinOf } from './targets.ts';

/** One simple command, its words expanded. */
export interface Simple {
  readonly name: string;
  readonly args: readonly string[];
  /** Where it may stand. */
  readonly directories: readonly string[];
}

type Rule = (command: Simple) => string | undefined;

const HELP = new Set(['--help', '-h', '--version', '-V']);

/** Says why a program with these arguments is plainly destructive; undefined when it is not. */
export function ruinousReason(command: Simple): string | undefined {
  if (command.name.startsWith('mkfs')) return makesFileSystem(command);
  return RULES[command.name]?.(command);
}

/** Why losing any of these would be a ruin. */
export function losing(paths: readonly string[], directories: readonly string[], homes = true): string | undefined {
  for (const path of paths) {
    for (const directory of directories) {
      const ruin = ruinOf(withoutTraces(path), directory);
      if (ruin === 'system') return 'the root of the system or a system directory';
      if (ruin === 'home' && homes) return 'a whole home directory';
    }
  }
  return undefined;
}

const remove: Rule = ({ name, args, directories }) => {
  if (args.includes('--no-preserve-root')) return `\`${name} --no-preserve-root\` is meant to delete the whole system`;
  const lost = losing(operands(args), directories);
  return lost === undefined ? undefined : `it would delete ${lost}`;
};

/** The command name is not known: it may be rm. */
export function ifItWereRemove(args: readonly string[], directories: readonly string[]): string | undefined {
  const recursive = args.some((arg) => /^-[a-zA-Z]*[rR]|^--recursive$/.test(arg));
  return recursive ? remove({ name: 'rm', args, directories }) : undefined;
}

const makesFileSystem: Rule = ({ name, args }) =>
  args.length > 0 && args.every((arg) => HELP.has(arg))
    ? undefined
    : `\`${name}\` makes a new file system and destroys what was there`;

const overwritesDevice: Rule = ({ name, args, directories }) =>
  onDevice(operands(args), directories) ? `\`${name}\` would write over a device` : undefined;

const LOOKS = new Set(['-p', '--print', 'print', '-l', '--list', '-i', '--info', '-v', '--verify', '-d', '--dump']);

const partitions: Rule = (command) =>
  command.args.some((arg) => LOOKS.has(arg)) ? undefined : overwritesDevice(command);

const copiesOntoDevice: Rule = ({ name, args, directories }) =>
  onDevice(operands(args).slice(-1), directories) ? `\`${name}\` would write over a device` : undefined;

const moves: Rule = (command) => {
  const all = operands(command.args);
  const lost = losing(
    command.args.some((arg) => arg.startsWith('-t') || arg.startsWith('--target')) ? all : all.slice(0, -1),
    command.directories,
  );
  return lost === undefined ? copiesOntoDevice(command) : `it would move ${lost} away`;
};

const disk: Rule = (command) => {
  const { name, args, directories } = command;
  const of = args.filter((arg) => arg.startsWith('of=')).map((arg) => arg.slice(3));
  return onDevice(of, directories) ? `\`${name}\` would write over a device` : undefined;
};

const stops: Rule = ({ name, args }) =>
  args.includes('--help') || args.includes('--version') || (name === 'shutdown' && args[0] === '-c')
    ? undefined
    : `\`${name}\` would stop the machine`;

const changesRunLevel: Rule = ({ name, args }) =>
  args.some((arg) => /^[016sS]$/.test(arg)) ? `\`${name}\` would stop the machine` : undefined;

const STOP_VERBS = new Set([
  'poweroff',
  'reboot',
  'halt',
  'kexec',
  'soft-reboot',
  'suspend',
  'hibernate',
  'hybrid-sleep',
  'suspend-then-hibernate',
  'rescue',
  'emergency',
  'exit',
]);
const STOP_TARGETS = /^(?:poweroff|reboot|halt|shutdown|rescue|emergency|kexec|runlevel[016])(?:\.target)?$/;

const controlsSystem: Rule = ({ name, args }) => {
  if (args.includes('--user')) return undefined;
  const [verb = '', ...units] = args.filter((arg) => !arg.startsWith('-'));
  const stopping =
    STOP_VERBS.has(verb) || ((verb === 'isolate' || verb === 'start') && units.some((unit) => STOP_TARGETS.test(unit)));
  return stopping ? `\`${name} ${verb}\` would stop the machine` : undefined;
};

const changesRights: Rule = ({ name, args, directories }) => {
  if (!args.some((arg) => arg === '--recursive' || /^-[a-zA-Z]*R[a-zA-Z]*$/.test(arg))) return undefined;
  const lost = losing(operands(args), directories, false);
  return lost === undefined ? undefined : `\`${name}\` would change the rights of ${lost} and everything in it`;
};

const kills: Rule = ({ args }) => {
  let targets = args;
  const [first = '', second] = args;
  if (/^(?:-s|-n|--signal)$/.test(first)) targets = args.slice(2);
  else if (first.startsWith('-') && first !== '--' && second !== undefined) targets = args.slice(1);
  else if (first !== '--') targets = [];
  return targets.includes('-1') ? 'it would end every process' : undefined;
};

const killsAll: Rule = ({ name }) => `\`${name}\` would end every process`;

export const INTERPRETERS = /^(?:perl|python|python[23](?:\.\d+)?|ruby|node|deno|php|lua)$/;
export const INTERPRETER_CODE = new Set(['-e', '-E', '-c', '-r', '--eval']);
const RUNS_SHELL =
  /\b(?:system|popen|exec|execSync|run|call|check_output|check_call|shell_exec)\s*\(\s*(["'])(.{1,2000}?)\1/g;
const REMOVES = /\b(?:rmtree|rmSync|rmdirSync|rm_rf|rm_r|remove_tree)\s*\(?\s*(["'])(.{1,500}?)\1/g;

/** Words with which such code deletes, and texts in it that may be places or patterns. */
const DELETES =
  /\b(?:rmtree|rm(?:dir)?Sync|rm_rf|rm_r|remove_tree|unlink(?:Sync)?|rmdir|os\.remove|removedirs|File\.delete|rm)\b/u;
const PLACES = /(["'`])(\/[^"'`\n]{1,500})\1|<(\/[^<>\n]{0,500}\*[^<>\n]{0,500})>/gu;

/**
 * What the code of another language, given on the command line, hands to a shell. That language is not parsed: only
 * calls with a plain string are seen, and the classic that forks in an endless loop.
 */
export function inlineCode({ name, args, directories }: Simple): { shell: string[]; reason: string | undefined } {
  if (!INTERPRETERS.test(name)) return { shell: [], reason: undefined };
  const code = args.filter((_, i) => INTERPRETER_CODE.has(args[i - 1] ?? '')).join('\n');
  const forks = name !== 'node' && /\bfork\b/.test(code) && /\b(?:while|for|loop|until)\b/.test(code);
  const places = DELETES.test(code) ? Array.from(code.matchAll(PLACES), ([, , text, glob]) => text ?? glob ?? '') : [];
  const removed = [...Array.from(code.matchAll(REMOVES), (match) => match[2] ?? ''), ...places];
  const lost = losing(
    removed.map((place) => unquoted(place.replaceAll(/\s/gu, '_'))),
    directories,
  );
  return {
    shell: Array.from(code.matchAll(RUNS_SHELL), (match) => match[2] ?? ''),
    reason: forks ? 'it is a fork bomb' : lost === undefined ? undefined : `it would delete ${lost}`,
  };
}

const RULES: Readonly<Record<string, Rule>> = {
  rm: remove,
  srm: remove,
  shred: (command) => remove(command) ?? overwritesDevice(command),
  rimraf: remove,
  mke2fs: makesFileSystem,
  mkswap: makesFileSystem,
  wipefs: makesFileSystem,
  blkdiscard: makesFileSystem,
  sgdisk: partitions,
  sfdisk: partitions,
  parted: partitions,
  badblocks: (command) => (command.args.some((arg) => /^-\w*w/.test(arg)) ? overwritesDevice(command) : undefined),
  dd: disk,
  dcfldd: disk,
  tee: overwritesDevice,
  truncate: overwritesDevice,
  cp: copiesOntoDevice,
  install: copiesOntoDevice,
  mv: moves,
  shutdown: stops,
  reboot: stops,
  halt: stops,
  poweroff: stops,
  init: changesRunLevel,
  telinit: changesRunLevel,
  systemctl: controlsSystem,
  loginctl: controlsSystem,
  chmod: changesRights,
  chown: changesRights,
  chgrp: changesRights,
  setfacl: changesRights,
  kill: kills,
  killall5: killsAll,
};

function onDevice(paths: readonly string[], directories: readonly string[]): boolean {
  return paths.some((path) => directories.some((directory) => isRawDevice(path, directory)));
}

/** The arguments that are not options. */
function operands(args: readonly string[]): string[] {
  const end = args.indexOf('--');
  const before = end < 0 ? args : args.slice(0, end);
  const after = end < 0 ? [] : args.slice(end + 1);
  return [...before.filter((arg) => !arg.startsWith('-') && arg !== UNKNOWN), ...after];
}
