import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { arch, pid, platform } from 'node:process';
import { sleep, type Clock } from '../../util/clock.ts';

/** Variable that everything outside of a sandbox inherits, and bubblewrap itself has. */
export const MARKER = 'ASSISTANT_COMMAND';

/** Variable with the process ids of what only passes the output on, for the supervisor. */
export const PUMPS = 'ASSISTANT_PUMPS';

/** Said when something outlived a command; printed last, in brackets. */
export const LEFTOVER_NOTE =
  'Something it started still ran in the background and was stopped; only a command with background: true goes on.';

const PERL = '/usr/bin/perl';

/** The number of prctl(2), which no module of Perl knows. */
const PRCTL: Readonly<Record<string, number>> = {
  x64: 157,
  arm64: 167,
  riscv64: 167,
  s390x: 172,
  ppc64: 171,
  arm: 172,
};

/**
 * Runs a program as a child and ends with its exit code or signal. As a "child subreaper" it becomes the parent of every
 * process below that loses its own, whatever its session or environment, so all can be found. Ends them when the program has
 * ended (after 150 ms, saying so), on SIGTERM, and when its own parent dies, also by SIGKILL. Only modules of the smallest
 * Perl are used. Arguments: the number of prctl, the parent, the note or nothing; then the program.
 */
const SUPERVISOR = String.raw`
my ($prctl, $parent, $note) = splice @ARGV, 0, 3;
my %pumps = map { $_ => 1 } split / /, delete $ENV{${PUMPS}} // '';
my ($child, $status);
sub children {
  my @found;
  opendir(my $dir, '/proc') or return;
  for my $id (grep { /^\d+$/ } readdir $dir) {
    open(my $file, '<', "/proc/$id/stat") or next;
    local $/;
    my $stat = <$file>;
    push @found, $id if defined $stat && $stat =~ /.*\) \S (\d+)/s && $1 == $$ && !$pumps{$id};
  }
  return @found;
}
sub leave {
  my $signal = $status & 127;
  exit($status >> 8) if !$signal;
  $SIG{TERM} = 'DEFAULT';
  kill $signal, $$;
  exit(128 + $signal);
}
sub collect {
  my ($rounds, $each) = @_;
  for my $round (1 .. $rounds) {
    my $ended;
    while (($ended = waitpid(-1, 1)) > 0) { $status = $? if $ended == $child; }
    leave() if $ended < 0 || !children();
    $each->();
    select(undef, undef, undef, 0.02);
  }
}
sub finish {
  my ($grace) = @_;
  $SIG{TERM} = 'IGNORE';
  kill 'TERM', children();
  collect($grace, sub {});
  collect(500, sub { kill 'KILL', children() });
  leave();
}
$SIG{TERM} = sub { $status = 15; finish(40) };
syscall($prctl, 36, 1, 0, 0, 0);
syscall($prctl, 1, 15, 0, 0, 0);
exit 1 if getppid() != $parent;
$child = fork();
exit 1 if !defined $child;
if ($child == 0) {
  $SIG{TERM} = 'DEFAULT';
  setpgrp(0, 0);
  exec { $ARGV[0] } @ARGV or exit 127;
}
close STDIN; close STDERR;
close STDOUT if !$note;
for (;;) {
  my $ended = waitpid(-1, 0);
  next if $ended > 0 && $ended != $child;
  $status = $?;
  collect(8, sub {});
  syswrite(STDOUT, "[$note]\n") if $note;
  finish(3);
}
`;

/**
 * What to run a program with so that nothing which it starts outlives it or this process; null where that takes a program that
 * is missing (Perl) or another kernel than Linux. `isCommand`: its output says if something was ended.
 */
export function supervisor(isCommand: boolean): readonly string[] | null {
  const prctl = PRCTL[arch];
  if (platform !== 'linux' || prctl === undefined || !existsSync(PERL)) return null;
  return [PERL, '-e', SUPERVISOR, '--', String(prctl), String(pid), isCommand ? LEFTOVER_NOTE : ''];
}

/** Like `process.kill`; a process that is gone already is no error. */
export function send(target: number, name: NodeJS.Signals): void {
  try {
    // 0 would be the group of this process.
    if (target !== 0) process.kill(target, name);
  } catch {
    // Ended meanwhile, or not ours any more.
  }
}

/** The beginning of the marker's value, which no other mark shares. */
export function markerOf(mark: string): string {
  return `${createHash('sha256').update(mark).digest('hex').slice(0, 16)}.`;
}

/** False for a process that has ended, also while nobody has collected it yet. */
export function isAlive(pid: number): boolean {
  const text = readProc(pid, 'stat');
  return text !== undefined && !/^[ZX]/u.test(text.slice(text.lastIndexOf(')') + 2));
}

/** All processes that a process has started and that still run, by descent; none where there is no /proc. */
export function descendants(root: number): readonly number[] {
  const found = [root];
  const childrenOf = readProc(process.pid, `task/${process.pid}/children`) === undefined ? allParents() : listed;
  for (const id of found) found.push(...childrenOf(id));
  return found.slice(1);
}

/** What the kernel lists for each thread, where it was built to (CONFIG_PROC_CHILDREN). */
function listed(parent: number): readonly number[] {
  return namesIn(`/proc/${parent}/task`).flatMap((thread) =>
    (readProc(parent, `task/${thread}/children`) ?? '').split(' ').filter(Boolean).map(Number),
  );
}

/** Looks through all processes, which takes milliseconds. */
function allParents(): (parent: number) => readonly number[] {
  const parents = processIds().map((id) => {
    // proc_pid_stat(5): the name before the state is in brackets and may hold anything.
    const text = readProc(id, 'stat') ?? '';
    return [id, Number(text.slice(text.lastIndexOf(')') + 2).split(' ', 2)[1])] as const;
  });
  return (parent) => parents.flatMap(([id, above]) => (above === parent ? [id] : []));
}

/** Bytes of memory that processes hold together. */
export function heldBytes(ids: readonly number[]): number {
  return ids.reduce(
    (sum, id) => sum + Number(/^VmRSS:\s+(\d+)/mu.exec(readProc(id, 'status') ?? '')?.[1] ?? 0) * 1024,
    0,
  );
}

/**
 * Ends what programs with this mark, started by a process that was killed, left running: what their supervisor did not end by
 * itself, because it was stopped or killed too. False when something could not be ended.
 */
export async function endLeftPrograms(mark: string, clock: Clock): Promise<boolean> {
  return (await endMarked(markerOf(mark), clock)) !== 'runs';
}

/** Ends all in whose environment the marker begins so. Says whether there was anything, and whether it still runs. */
export async function endMarked(beginning: string, clock: Clock): Promise<'nothing' | 'ended' | 'runs'> {
  for (let round = 0; round < 100; round += 1) {
    const ids = processIds().filter((id) => `\0${readProc(id, 'environ')}`.includes(`\0${MARKER}=${beginning}`));
    if (ids.length === 0) return round === 0 ? 'nothing' : 'ended';
    for (const id of ids)
      for (const name of round < 50 ? (['SIGTERM', 'SIGCONT'] as const) : (['SIGKILL'] as const)) send(id, name);
    await sleep(clock, 20);
  }
  return 'runs';
}

function processIds(): readonly number[] {
  return namesIn('/proc').flatMap((name) => (/^\d+$/u.test(name) ? [Number(name)] : []));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readProc(id: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${id}/${file}`, 'latin1');
  } catch {
    return undefined;
  }
}
