import { posix } from 'node:path';
import { makesGitRun } from '../../git-settings.ts';
import { isUndecided, UNKNOWN } from '../marks.ts';
import { losing, type Simple } from '../rules.ts';
import { outside, type Concern } from './concern.ts';

type Rule = (args: readonly string[], simple: Simple) => string | undefined;

/** What running this program with these arguments means beyond the folder it runs in. */
export function programConcerns(simple: Simple): Concern[] {
  const { name, args } = simple;
  const own = RULES[name]?.(args, simple);
  const published = publishes(name, args);
  return [
    ...(own === undefined ? [] : [outside(own)]),
    ...(published === undefined ? [] : [{ reason: published, needs: 'network' as const }]),
  ];
}

const HELP = new Set(['--help', '--version', '-V']);
const isHelp = (args: readonly string[]): boolean => args.length > 0 && args.every((arg) => HELP.has(arg));
const words = (args: readonly string[]): string[] => args.filter((arg) => !arg.startsWith('-'));

const SUDO_LOOKS = /^(?:-[lvVkK]|--(?:list|validate|version|help|reset-timestamp|remove-timestamp))$/u;
const rights: Rule = (args, { name }) =>
  args.length > 0 && SUDO_LOOKS.test(args[0] ?? '') ? undefined : `it runs with another user's rights (\`${name}\`)`;

/** Without operands these list. */
const system: Rule = (args, { name }) =>
  isHelp(args) || (words(args).length === 0 && !args.some((arg) => /^-[a-zA-Z]*[aD]|^--(?:all|detach-all)$/u.test(arg)))
    ? undefined
    : `it changes the system for everybody (\`${name}\`)`;

const firewall: Rule = (args, simple) =>
  args.some((arg) => /^(?:-[a-zA-Z]*[LS]|--list.*|--get.*|list|status|--state)$/u.test(arg)) || args.length === 0
    ? undefined
    : changesSystem(args, simple);
const changesSystem: Rule = (args, { name }) =>
  isHelp(args) ? undefined : `it changes the system for everybody (\`${name}\`)`;
const accounts: Rule = (args, { name }) => (isHelp(args) ? undefined : `it changes who may log in (\`${name}\`)`);
const kernel: Rule = (args, simple) =>
  args.some((arg) => /^-[a-zA-Z]*[wp]|^--(?:write|load|system)/u.test(arg) || /^[\w./-]+=/u.test(arg))
    ? changesSystem(args, simple)
    : undefined;

const LASTING_VERBS = new Set(
  'enable disable mask unmask reenable preset preset-all link edit revert set-default set-property add-wants add-requires import-environment set-environment enable-linger disable-linger'.split(
    ' ',
  ),
);
const RUNNING_VERBS = new Set('start stop restart try-restart reload reload-or-restart kill reset-failed'.split(' '));
const units: Rule = (args, { name }) => {
  const [verb = '', ...names] = words(args);
  if (LASTING_VERBS.has(verb)) return `it changes what the machine starts by itself (\`${name} ${verb}\`)`;
  return RUNNING_VERBS.has(verb) ? ownService(names) : undefined;
};
const ownService = (names: readonly string[]): string | undefined =>
  names.some((name) => /^assistant(?:$|[.@-])/u.test(name)) ? "it changes the assistant's own service" : undefined;
const service: Rule = (args) => ownService(args);
const launchctl: Rule = (args) =>
  /^(?:load|unload|bootstrap|bootout|enable|disable|kickstart|submit)$/u.test(args[0] ?? '')
    ? `it changes what the machine starts by itself (\`launchctl ${args[0]}\`)`
    : undefined;
const startup: Rule = (args, { name }) =>
  isHelp(args) || /^--?list$/u.test(args[0] ?? '')
    ? undefined
    : `it changes what the machine starts by itself (\`${name}\`)`;

const later: Rule = (args, { name }) =>
  isHelp(args) || args.some((arg) => /^-[lc]$/u.test(arg))
    ? undefined
    : `it would have something run later by itself (\`${name}\`)`;

const OWN_LOOKS = new Set(['status', 'usage', 'why', 'completion', 'help']);
const OWN = "it uses the assistant's own command line, which obeys whoever calls it";
const assistant: Rule = (args) => {
  const [command] = words(args);
  return isHelp(args) || (command !== undefined && OWN_LOOKS.has(command)) ? undefined : OWN;
};
const runner: Rule = (args) => {
  const [first = '', ...rest] = words(args).filter((word) => word !== 'exec' && word !== 'dlx' && word !== 'x');
  return first === 'assistant' ? assistant(rest, { name: first, args: rest, directories: [] }) : undefined;
};
const node: Rule = (args) => (args.some((arg) => posix.basename(arg) === 'launcher.cjs') ? OWN : undefined);

const KILL_LOOKS = /^(?:-l|-L|-0|--list|--table)$/u;
const killsByName: Rule = (args, { name }) =>
  isHelp(args) || args.some((arg) => KILL_LOOKS.test(arg))
    ? undefined
    : `it ends processes that it did not start (\`${name}\`)`;
const kills: Rule = (args) => {
  const signalled = /^(?:-s|-n|--signal)$/u.test(args[0] ?? '') ? args[1] : args[0]?.replace(/^-/u, '');
  if (args.some((arg) => KILL_LOOKS.test(arg)) || signalled === '0') return undefined;
  const isSignal = (arg: string, i: number): boolean => i === 0 && arg.startsWith('-');
  const targets = args.filter(
    (arg, i) => !isSignal(arg, i) && !(i === 1 && /^(?:-s|-n|--signal)$/u.test(args[0] ?? '')),
  );
  // What the command itself started is a job, also as `$!`; whatever else is not spelled out may be anything.
  return targets.some((arg) => /^-?[1-9]\d*$/u.test(arg) || isUndecided(arg))
    ? 'it ends processes that it did not start (`kill`)'
    : undefined;
};
const fuser: Rule = (args, simple) =>
  args.some((arg) => /^-[a-zA-Z]*k|^--kill$/u.test(arg)) ? killsByName([], simple) : undefined;

const OPENS_MACHINE =
  /^--(?:privileged|pid=host|ipc=host|userns=host|cap-add=(?:ALL|SYS_ADMIN|SYS_PTRACE|SYS_MODULE)|device=.*)$/iu;
const containers: Rule = (args, { name, directories }) => {
  const at = args.findIndex((arg) => /^(?:run|create)$/u.test(arg));
  if (at < 0) return undefined;
  const options = args.slice(at + 1).flatMap((arg, i, all) => {
    const next = all[i + 1] ?? '';
    return /^--(?:pid|ipc|userns|cap-add|device)$/u.test(arg) ? [`${arg}=${next}`] : [arg];
  });
  const mounted = options.flatMap((arg, i) => {
    if (/^(?:-v|--volume)$/u.test(options[i - 1] ?? '')) return [arg.split(':')[0] ?? ''];
    const value = /^(?:-v|--volume=)([/~].*)$/u.exec(arg)?.[1]?.split(':')[0];
    const source = /(?:^|,)(?:source|src)=([^,]*)/u.exec(arg)?.[1];
    return [value, source].filter((path) => path !== undefined);
  });
  const opens =
    options.some((arg) => OPENS_MACHINE.test(arg)) ||
    mounted.some((path) => /\/(?:docker|podman|containerd)\.sock$/u.test(path)) ||
    losing(
      mounted.filter((path) => path.startsWith('/')),
      directories,
    ) !== undefined;
  return opens ? `it gives a container the whole machine (\`${name} run\`)` : undefined;
};

const SET_ID = /^(?:[0-7]?[2-7][0-7]{3}|(?:[ugoa]*[+=][rwxXt]*s[rwxXst]*,?.*))$/u;
const setId: Rule = (args) =>
  words(args).some((arg, i) => i === 0 && SET_ID.test(arg))
    ? "it makes a program run with its owner's rights (`chmod`)"
    : undefined;

const tunnels: Rule = (args) =>
  args.some((arg) => /^-[a-zA-Z]*[Rw]/u.test(arg)) ? 'it opens a way into this machine (`ssh -R`)' : undefined;
const authorizes: Rule = () => 'it changes who may log in (`ssh-copy-id`)';

/** Section and name in lower case, as git compares them. */
const gitKey = (key: string): string => {
  const [section = '', ...rest] = key.split('.');
  return [section.toLowerCase(), ...rest.slice(0, -1), rest.at(-1)?.toLowerCase()].join('.');
};
const git: Rule = (args) => {
  const [command, ...rest] = words(args.filter((arg, i) => arg !== '-c' && !/^-[cC]$/u.test(args[i - 1] ?? '')));
  if (command !== 'config') return undefined;
  const keys = rest.filter((word) => word !== 'set');
  const isWrite = keys.length > 1 || args.includes('--add') || args.includes('--edit') || args.includes('-e');
  const [key = '', value = ''] = keys;
  const isPlain = /^[\w.-]+$/u.test(key) && !makesGitRun({ key: gitKey(key), value: value.replace(UNKNOWN, '!') });
  return isWrite && !isPlain ? 'it makes git run other programs by itself (`git config`)' : undefined;
};

const RULES: Readonly<Record<string, Rule>> = {
  ...all(rights, 'sudo doas su pkexec run0 runuser sudoedit'),
  ...all(system, 'mount umount losetup swapon swapoff insmod modprobe rmmod'),
  ...all(firewall, 'iptables ip6tables nft ufw firewall-cmd'),
  ...all(changesSystem, 'setcap visudo nsenter'),
  ...all(
    accounts,
    'useradd usermod userdel groupadd groupmod groupdel gpasswd passwd chpasswd adduser deluser chsh vipw',
  ),
  ...all(units, 'systemctl loginctl'),
  ...all(service, 'service rc-service'),
  ...all(startup, 'update-rc.d chkconfig rc-update'),
  ...all(later, 'crontab at batch systemd-run'),
  ...all(runner, 'npx npm pnpm bunx yarn'),
  ...all(killsByName, 'pkill killall skill'),
  ...all(containers, 'docker podman nerdctl'),
  sysctl: kernel,
  launchctl,
  assistant,
  node,
  kill: kills,
  fuser,
  chmod: setId,
  ssh: tunnels,
  'ssh-copy-id': authorizes,
  git,
};

function all(rule: Rule, names: string): Record<string, Rule> {
  return Object.fromEntries(names.split(' ').map((name) => [name, rule]));
}

/** The words with which a program gives something to the whole world, or takes it back. */
const PUBLISHES: Readonly<Record<string, RegExp>> = {
  npm: /^(?:publish|unpublish|deprecate|dist-tag|owner|access)(?: |$)/u,
  pnpm: /^publish(?: |$)/u,
  yarn: /^(?:npm )?publish(?: |$)/u,
  bun: /^publish(?: |$)/u,
  cargo: /^(?:publish|yank|owner)(?: |$)/u,
  gem: /^(?:push|yank|owner)(?: |$)/u,
  twine: /^upload(?: |$)/u,
  uv: /^publish(?: |$)/u,
  poetry: /^publish(?: |$)/u,
  flit: /^publish(?: |$)/u,
  hatch: /^publish(?: |$)/u,
  mvn: /(?:^| )deploy(?: |$)/u,
  vsce: /^publish(?: |$)/u,
  docker: /^(?:image )?push(?: |$)/u,
  podman: /^(?:image )?push(?: |$)/u,
  helm: /^push(?: |$)/u,
  gh: /^(?:release (?:create|delete|upload)|repo (?:delete|archive|rename)|gist create)(?: |$)/u,
};

function publishes(name: string, args: readonly string[]): string | undefined {
  if (name !== 'git' && !(name in PUBLISHES)) return undefined;
  if (args.some((arg) => arg === '--dry-run' || (arg === '-n' && (name === 'git' || name === 'cargo'))))
    return undefined;
  if (name === 'git') return forcesPush(args) ? 'it overwrites what others see (`git push`)' : undefined;
  const line = words(args).join(' ');
  return PUBLISHES[name]?.test(line) === true
    ? `it publishes or withdraws something (\`${name} ${words(args)[0]}\`)`
    : undefined;
}

function forcesPush(args: readonly string[]): boolean {
  const at = args.indexOf('push');
  const command = args.find((arg, i) => !arg.startsWith('-') && !/^-[cC]$/u.test(args[i - 1] ?? ''));
  if (at < 0 || command !== 'push') return false;
  return args
    .slice(at + 1)
    .some(
      (arg) =>
        /^(?:-[a-zA-Z]*[fd][a-zA-Z]*|--force|--mirror|--delete|--prune|\+.+|:.+)$/u.test(arg) && !arg.includes(UNKNOWN),
    );
}
