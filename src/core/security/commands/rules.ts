import { makesGitRun } from '../sandbox/git-settings.ts';
import { isUndecided, UNKNOWN } from './placeholders.ts';
import { noteRisk, Refusal, type CommandRisk, type Scope, type Simple } from './scope.ts';
import { reasonIfLost } from './targets.ts';

/** When a rule applies; always, when nothing is said. */
interface Condition {
  /** Only with such arguments, each of which is a line. */
  readonly when?: RegExp;
  readonly unless?: RegExp;
  /** Only with such operands, each of which is a line. */
  readonly words?: RegExp;
  /** Only if this holds. */
  readonly test?: (simple: Simple) => boolean;
  /** Only where these operands are the system or, but for `system`, a home; `%lost` in the reason says which. */
  readonly loses?: 'operands' | 'sources' | 'system';
}

/** What of some programs is refused in every mode, or asked about where the command has what it needs. */
interface Rule extends Condition {
  readonly programs: string;
  readonly effect: 'refuse' | CommandRisk;
  /** A clause in which `%` is the program and `%1` its first operand. */
  readonly reason: string;
}

/** Refuses what a program with these arguments must not do, and keeps what a person should know of. */
export function judgeProgram(simple: Simple, scope: Scope): void {
  const args = simple.args.map((arg) => arg.replaceAll('\n', ' '));
  const line = args.join('\n');
  if (/^(?:(?:--help|--version|-V)(?:\n|$))+$/u.test(line)) return;
  const words = args.filter((arg) => !arg.startsWith('-'));
  for (const rule of RULES.get(simple.name.replace(/^mkfs.*/u, 'mkfs')) ?? []) {
    const { effect, reason, when, unless, test, loses } = rule;
    if (when?.test(line) === false || unless?.test(line) === true || test?.(simple) === false) continue;
    if (rule.words?.test(words.join('\n')) === false) continue;
    const lost = loses === undefined ? '' : lostBy(simple, loses);
    if (lost === undefined) continue;
    const marks = { '%': simple.name, '%1': words[0] ?? '', '%lost': lost };
    const said = Object.entries(marks).reduceRight((text, [mark, value]) => text.replaceAll(mark, () => value), reason);
    if (effect === 'refuse') throw new Refusal(said);
    noteRisk(scope, effect, said);
  }
}

function lostBy({ args, directories }: Simple, loses: NonNullable<Condition['loses']>): string | undefined {
  const end = args.indexOf('--');
  const before = end < 0 ? args : args.slice(0, end);
  const names = before.filter((arg) => !arg.startsWith('-') && arg !== UNKNOWN).concat(args.slice(before.length + 1));
  const isInto = args.some((arg) => /^(?:-t|--target)/.test(arg));
  return reasonIfLost(loses === 'sources' && !isInto ? names.slice(0, -1) : names, directories, loses !== 'system');
}

const TABLE: readonly Rule[] = [
  // What is destroyed
  refuse('rm srm rimraf shred', 'it would delete %lost', { loses: 'operands' }),
  refuse('rm', '`% --no-preserve-root` is meant to delete the whole system', { when: /^--no-preserve-root$/mu }),
  refuse('mv', 'it would move %lost away', { loses: 'sources' }),
  refuse('mkfs mke2fs mkswap wipefs blkdiscard', '`%` makes a new file system and destroys what was there', {
    unless: /^-h$/u,
  }),
  refuse('chmod chown chgrp setfacl', '`%` would change the rights of %lost and everything in it', {
    when: /^(?:--recursive|-[a-zA-Z]*R[a-zA-Z]*)$/mu,
    loses: 'system',
  }),
  // What stops
  refuse('shutdown reboot halt poweroff', '`%` would stop the machine', { unless: /^(?:-c|--help|--version)$/mu }),
  refuse('init telinit', '`%` would stop the machine', { when: /^[016sS]$/mu }),
  refuse('systemctl loginctl', '`% %1` would stop the machine', {
    words:
      /^(?:(?:poweroff|reboot|halt|kexec|soft-reboot|suspend|hibernate|hybrid-sleep|suspend-then-hibernate|rescue|emergency|exit)|(?:isolate|start)\n(?:.*\n)*?(?:poweroff|reboot|halt|shutdown|rescue|emergency|kexec|runlevel[016])(?:\.target)?)(?:\n|$)/u,
    unless: /^--user$/mu,
  }),
  refuse('killall5', '`%` would end every process'),
  refuse('kill', 'it would end every process', { test: ({ args }) => killed(args).includes('-1') }),
  ask('kill', 'it ends processes that it did not start (`%`)', {
    // `$!` and jobs are the command's own processes; any other value that is not literal may be any process.
    test: ({ args }) => killed(args).some((arg) => /^-?[1-9]\d*$/u.test(arg) || isUndecided(arg)),
    unless: /^(?:-l|-L|-0|--list|--table)$/mu,
  }),
  ask('pkill killall skill', 'it ends processes that it did not start (`%`)', {
    unless: /^(?:-l|-L|-0|--list|--table)$/mu,
  }),
  ask('fuser', 'it ends processes that it did not start (`%`)', { when: /^-[a-zA-Z]*k|^--kill$/mu }),
  // The system, and who may use it
  ask('sudo doas su pkexec run0 runuser sudoedit', "it runs with another user's rights (`%`)", {
    unless: /^(?:-[lvVkK]|--(?:list|validate|version|help|reset-timestamp|remove-timestamp))(?:\n|$)/u,
  }),
  ask('chmod', "it makes a program run with its owner's rights (`%`)", {
    words: /^(?:[0-7]?[2-7][0-7]{3}|[ugoa]*[+=][rwxXt]*s[rwxXst]*,?.*)(?:\n|$)/u,
  }),
  ask('mount umount losetup swapon swapoff insmod modprobe rmmod', 'it changes the system for everybody (`%`)', {
    when: /^[^-]|^-[a-zA-Z]*[aD]|^--(?:all|detach-all)$/mu,
  }),
  ask('iptables ip6tables nft ufw firewall-cmd', 'it changes the system for everybody (`%`)', {
    when: /./u,
    unless: /^(?:-[a-zA-Z]*[LS]|--list.*|--get.*|list|status|--state)$/mu,
  }),
  ask('sysctl', 'it changes the system for everybody (`%`)', {
    when: /^-[a-zA-Z]*[wp]|^--(?:write|load|system)|^[\w./-]+=/mu,
  }),
  ask('setcap visudo nsenter', 'it changes the system for everybody (`%`)'),
  ask(
    'useradd usermod userdel groupadd groupmod groupdel gpasswd passwd chpasswd adduser deluser chsh vipw ssh-copy-id',
    'it changes who may log in (`%`)',
  ),
  ask('ssh', 'it opens a way into this machine (`ssh -R`)', { when: /^-[a-zA-Z]*[Rw]/mu }),
  ask('docker podman nerdctl', 'it gives a container the whole machine (`% %1`)', { test: opensMachine }),
  // What runs later, or by itself
  ask('systemctl loginctl', 'it changes what the machine starts by itself (`% %1`)', {
    words:
      /^(?:enable|disable|mask|unmask|reenable|preset|preset-all|link|edit|revert|set-default|set-property|add-wants|add-requires|import-environment|set-environment|enable-linger|disable-linger)(?:\n|$)/u,
  }),
  ask('launchctl', 'it changes what the machine starts by itself (`% %1`)', {
    when: /^(?:load|unload|bootstrap|bootout|enable|disable|kickstart|submit)(?:\n|$)/u,
  }),
  ask('update-rc.d chkconfig rc-update', 'it changes what the machine starts by itself (`%`)', {
    unless: /^--?list(?:\n|$)/u,
  }),
  ask('crontab at batch systemd-run', 'it would have something run later by itself (`%`)', { unless: /^-[lc]$/mu }),
  ask('git', 'it makes git run other programs by itself (`git config`)', { test: setsGitProgram }),
  // The assistant itself
  ask('systemctl loginctl', "it changes the assistant's own service", {
    words:
      /^(?:start|stop|restart|try-restart|reload|reload-or-restart|kill|reset-failed)\n(?:.*\n)*?assistant(?:[.@-]|\n|$)/u,
  }),
  ask('service rc-service', "it changes the assistant's own service", { when: /^assistant(?:$|[.@-])/mu }),
  ask('assistant', "it uses the assistant's own command line, which obeys every caller", {
    words: /^(?!(?:status|usage|why|completion|help)(?:\n|$))/u,
  }),
  ask('npx npm pnpm bunx yarn', "it uses the assistant's own command line, which obeys every caller", {
    words: /^(?:(?:exec|dlx|x)\n)*assistant(?:\n(?!(?:status|usage|why|completion|help)(?:\n|$))|$)/u,
  }),
  ask('node', "it uses the assistant's own command line, which obeys every caller", {
    when: /^(?:.*\/)?launcher\.cjs$/mu,
  }),
  // What the world sees
  online('git', 'it overwrites what others see (`git push`)', {
    when: /^(?:-[cC]\n.*\n|-.*\n)*push\n(?:.*\n)*?(?:-[a-zA-Z]*[fd][a-zA-Z]*|--force|--mirror|--delete|--prune|[+:][^\uE000\n]+)(?:\n|$)/u,
    unless: /^(?:--dry-run|-n)$/mu,
  }),
  publish('npm', /^(?:publish|unpublish|deprecate|dist-tag|owner|access)(?:\n|$)/u),
  publish('pnpm bun uv poetry flit hatch vsce', /^publish(?:\n|$)/u),
  publish('yarn', /^(?:npm\n)?publish(?:\n|$)/u),
  publish('cargo gem', /^(?:publish|push|yank|owner)(?:\n|$)/u),
  publish('twine', /^upload(?:\n|$)/u),
  publish('mvn', /^deploy$/mu),
  publish('docker podman helm', /^(?:image\n)?push(?:\n|$)/u),
  publish('gh', /^(?:release\n(?:create|delete|upload)|repo\n(?:delete|archive|rename)|gist\ncreate)(?:\n|$)/u),
];

const RULES = new Map<string, Rule[]>();
for (const rule of TABLE)
  for (const name of rule.programs.split(' ')) RULES.set(name, [...(RULES.get(name) ?? []), rule]);

function refuse(programs: string, reason: string, condition: Condition = {}): Rule {
  return { programs, effect: 'refuse', reason, ...condition };
}

function ask(programs: string, reason: string, condition: Condition = {}): Rule {
  return { programs, effect: 'outside', reason, ...condition };
}

function online(programs: string, reason: string, condition: Condition): Rule {
  return { programs, effect: 'network', reason, ...condition };
}

function publish(programs: string, words: RegExp): Rule {
  return online(programs, 'it publishes or withdraws something (`% %1`)', { words, unless: /^--dry-run$/mu });
}

/** What `kill` is to end. */
function killed([first = '', ...rest]: readonly string[]): readonly string[] {
  if (/^(?:-s|-n|--signal)$/.test(first)) return rest[0] === '0' ? [] : rest.slice(1);
  return first.startsWith('-') ? rest : first === '0' ? [] : [first, ...rest];
}

/** Whether a container sees more of the machine than a folder. */
function opensMachine({ args, directories }: Simple): boolean {
  const line = args.join('\n');
  const mounted = Array.from(
    line.matchAll(/^(?:-v\n?|--volume[=\n])([^:\n]*)|(?:^|,|=)(?:source|src)=([^,\n]*)/gmu),
    ([, volume, source]) => volume ?? source ?? '',
  ).filter((path) => path.startsWith('/'));
  const rights =
    /^--(?:privileged$|(?:pid|ipc|userns)[=\n]host$|cap-add[=\n](?:ALL|SYS_ADMIN|SYS_PTRACE|SYS_MODULE)$|device[=\n])/imu;
  const isSocket = mounted.some((path) => /\/(?:docker|podman|containerd)\.sock$/u.test(path));
  return rights.test(line) || isSocket || reasonIfLost(mounted, directories) !== undefined;
}

/** Whether git is given a setting by which it may run a program. */
function setsGitProgram({ args }: Simple): boolean {
  const words = args.filter((arg, i) => !arg.startsWith('-') && !/^-[cC]$/u.test(args[i - 1] ?? ''));
  const [command, key = '', ...values] = words.filter((word) => word !== 'set');
  const isWrite = values.length > 0 || args.some((arg) => /^(?:--add|--edit|-e)$/u.test(arg));
  if (command !== 'config' || !isWrite) return false;
  // Section and name in lower case, as git compares them.
  const compared = key.replaceAll(/^[^.]*|[^.]*$/gu, (part) => part.toLowerCase());
  const value = (values[0] ?? '').replace(UNKNOWN, '!');
  return !/^[\w.-]+$/u.test(key) || makesGitRun({ key: compared, value });
}
