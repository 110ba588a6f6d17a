import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A child process as `/proc` tells of it. */
export interface ChildProcess {
  readonly pid: number;
  readonly command: string;
  readonly environment: string;
  readonly folder: string;
  /** Soft limits by their names, proc_pid_limits(5). */
  readonly limits: Readonly<Record<string, string>>;
}

/** Whether a process runs; one that ended and that nobody has asked about doesn't. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/mu.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** The ids of all processes that come from a process and still run. */
export function childIds(parent: number = process.pid): readonly number[] {
  try {
    const own = readdirSync(`/proc/${parent}/task`).flatMap((task) =>
      readFileSync(`/proc/${parent}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    );
    return own.flatMap((pid) => [pid, ...childIds(pid)]);
  } catch {
    return [];
  }
}

/** The processes below this one in which Node runs a program of this name. */
export function childrenNamed(name: string): readonly ChildProcess[] {
  return childIds().flatMap((pid) => {
    try {
      const read = (file: string): string => readFileSync(`/proc/${pid}/${file}`, 'latin1');
      const command = read('cmdline').replaceAll('\0', ' ');
      if (!command.includes(name) || !command.startsWith(process.execPath)) return [];
      const limits = read('limits')
        .split('\n')
        .flatMap((line) => {
          const found = /^Max (?<name>[a-z ]+?)\s{2,}(?<soft>\S+)/u.exec(line)?.groups;
          return found === undefined ? [] : [[found['name'] ?? '', found['soft'] ?? ''] as const];
        });
      return [
        {
          pid,
          command,
          environment: read('environ'),
          folder: readlinkSync(`/proc/${pid}/cwd`),
          limits: Object.fromEntries(limits),
        },
      ];
    } catch {
      return [];
    }
  });
}

/** Bytes that a process holds now, and held at most; 0 for one that is gone. */
export function memoryOf(pid: number): { readonly now: number; readonly most: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'mu').exec(status)?.[1] ?? 0);
    return { now: kilobytes('VmRSS') * 1024, most: kilobytes('VmHWM') * 1024 };
  } catch {
    return { now: 0, most: 0 };
  }
}
