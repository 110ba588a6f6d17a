import { existsSync } from 'node:fs';
import { arch, pid, platform } from 'node:process';

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

/** How long processes may take to leave after SIGTERM, and how long is tried to end them with SIGKILL. */
const TERM_ROUNDS = 40;
const KILL_ROUNDS = 500;
const ROUND_SECONDS = 0.02;

/**
 * Runs a program as a child and ends with its exit code or signal. As a "child subreaper" it becomes the parent of every
 * process below that loses its own, whatever its session or environment, so all can be found. Ends them when the program
 * has ended, on SIGTERM, and when its own parent dies, also by SIGKILL. Only modules of the smallest Perl are used.
 */
const SCRIPT = String.raw`
my ($prctl, $parent, $leaves) = splice @ARGV, 0, 3;
my $child;
sub children {
  my @found;
  opendir(my $dir, '/proc') or return;
  for my $id (grep { /^\d+$/ } readdir $dir) {
    open(my $file, '<', "/proc/$id/stat") or next;
    local $/;
    my $stat = <$file>;
    push @found, $id if defined $stat && $stat =~ /.*\) \S (\d+)/s && $1 == $$;
  }
  return @found;
}
sub finish {
  my ($status) = @_;
  $SIG{TERM} = 'IGNORE';
  kill 'TERM', children();
  for my $round (1 .. ${TERM_ROUNDS + KILL_ROUNDS}) {
    my $ended;
    while (($ended = waitpid(-1, 1)) > 0) { $status = $? if $ended == $child; }
    last if $ended < 0;
    kill 'KILL', children() if $round > ${TERM_ROUNDS};
    select(undef, undef, undef, ${ROUND_SECONDS});
  }
  leave($status);
}
sub leave {
  my ($status) = @_;
  my $signal = $status & 127;
  exit($status >> 8) if !$signal;
  $SIG{TERM} = 'DEFAULT';
  kill $signal, $$;
  exit(128 + $signal);
}
syscall($prctl, 36, 1, 0, 0, 0);
$SIG{TERM} = sub { finish(15) if !$leaves || getppid() != $parent };
syscall($prctl, 1, 15, 0, 0, 0);
exit 1 if getppid() != $parent;
$child = fork();
exit 1 if !defined $child;
if ($child == 0) {
  $SIG{TERM} = 'DEFAULT';
  setpgrp(0, 0);
  exec { $ARGV[0] } @ARGV or exit 127;
}
close STDIN; close STDOUT; close STDERR;
for (;;) {
  my $ended = waitpid(-1, 0);
  leave($?) if $leaves && $ended == $child;
  finish($?) if $ended == $child;
  finish(0) if $ended < 0;
}
`;

/**
 * What to run so that nothing which `command` starts outlives it or this process. With `leaves` it outlives `command`, but
 * not this process, which sends the signals itself. Null where that takes a program that is missing (Perl) or another
 * kernel than Linux.
 */
export function underSubreaper(command: readonly string[], { leaves = false } = {}): readonly string[] | null {
  const prctl = PRCTL[arch];
  if (platform !== 'linux' || prctl === undefined || !existsSync(PERL)) return null;
  return [PERL, '-e', SCRIPT, '--', String(prctl), String(pid), leaves ? '1' : '', ...command];
}
