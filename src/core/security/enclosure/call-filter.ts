/** Linux system call numbers; `undefined` for processors that are not listed. */
const PROCESSORS: Readonly<Record<string, Processor>> = {
  x64: {
    audit: 0xc000003e,
    // clone, unshare
    clones: [56, 272],
    // chmod fchmod creat mknod, fchmodat fchmodat2 mknodat
    modes: { 1: [90, 91, 85, 133], 2: [268, 452, 259] },
    // open, openat
    opens: { 1: [2], 2: [257] },
    // mount umount2 pivot_root chroot setns add_key request_key keyctl bpf perf_event_open userfaultfd open_by_handle_at
    refused: [165, 166, 155, 161, 308, 248, 249, 250, 321, 298, 323, 304],
  },
  arm64: {
    audit: 0xc00000b7,
    clones: [220, 97],
    // fchmod, fchmodat fchmodat2 mknodat
    modes: { 1: [52], 2: [53, 452, 33] },
    opens: { 2: [56] },
    refused: [40, 39, 41, 51, 268, 217, 218, 219, 280, 241, 282, 265],
  },
};

interface Processor {
  readonly audit: number;
  readonly clones: readonly number[];
  /** System calls that give a file its mode, by the place of that argument. */
  readonly modes: Readonly<Record<number, readonly number[]>>;
  /** The same for those that may create a file, by the place of their flags; the mode follows these. */
  readonly opens: Readonly<Record<number, readonly number[]>>;
  readonly refused: readonly number[];
}

/** open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr: the same numbers on all processors. Refused with EPERM. */
const REFUSED = [428, 429, 430, 431, 432, 433, 442];
/** io_uring_setup, and clone3 and openat2, whose flags a filter cannot read. Answered with ENOSYS, so that programs fall back. */
const MISSING = [425, 435, 437];

const CLONE_NEWUSER = 0x1000_0000;
/** S_ISUID and S_ISGID: outside, such a program would run with the rights of the assistant. */
const SET_ID = 0o6000;
/** O_CREAT, and what tells O_TMPFILE from O_DIRECTORY; without them the mode means nothing. */
const CREATES = 0o20000100;
/** System calls of x32 begin here; no others are as large. */
const X32_BIT = 0x4000_0000;

const LOAD = 0x20;
const EQUAL = 0x15;
const ANY_BIT = 0x45;
const AT_LEAST = 0x35;
const RETURN = 0x06;

const ALLOW = 0x7fff_0000;
const EPERM = 0x0005_0001;
const ENOSYS = 0x0005_0026;

/** Offsets in `struct seccomp_data`, seccomp(2); both processors are little-endian. */
const NUMBER = 0;
const AUDIT = 4;
const argument = (n: number): number => 16 + 8 * n;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/**
 * The seccomp program for `bwrap --seccomp`. It refuses new user namespaces, mounts, the kernel's keyrings,
 * set-user-id and set-group-id files, and system calls that commands do not need; system calls of another architecture
 * fail with ENOSYS. Undefined if the processor (`process.arch`) is not known.
 */
export function callFilter(arch: string): Uint8Array | undefined {
  const processor = PROCESSORS[arch];
  if (processor === undefined) return undefined;
  const { audit, clones, modes, opens, refused } = processor;
  const program: readonly Instruction[] = [
    [LOAD, 0, 0, AUDIT],
    [EQUAL, 1, 0, audit],
    [RETURN, 0, 0, ENOSYS],
    [LOAD, 0, 0, NUMBER],
    ...answer(AT_LEAST, X32_BIT, ENOSYS),
    ...[...refused, ...REFUSED].flatMap((number) => answer(EQUAL, number, EPERM)),
    ...MISSING.flatMap((number) => answer(EQUAL, number, ENOSYS)),
    ...clones.flatMap((number) => when(number, 0, answer(ANY_BIT, CLONE_NEWUSER, EPERM))),
    ...numbersByPlace(modes).flatMap(([place, number]) => when(number, place, answer(ANY_BIT, SET_ID, EPERM))),
    ...numbersByPlace(opens).flatMap(([place, number]) =>
      when(number, place, [
        [ANY_BIT, 0, 3, CREATES],
        [LOAD, 0, 0, argument(place + 1)],
        ...answer(ANY_BIT, SET_ID, EPERM),
      ]),
    ),
    [RETURN, 0, 0, ALLOW],
  ];
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [i, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.setUint16(i * 8, code, true);
    bytes.setUint8(i * 8 + 2, ifTrue);
    bytes.setUint8(i * 8 + 3, ifFalse);
    bytes.setUint32(i * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}

function answer(test: number, value: number, result: number): readonly Instruction[] {
  return [
    [test, 0, 1, value],
    [RETURN, 0, 0, result],
  ];
}

/** Applies rules to the low half of an argument of one system call; without a match the call is allowed. */
function when(number: number, index: number, rules: readonly Instruction[]): readonly Instruction[] {
  const body: readonly Instruction[] = [[LOAD, 0, 0, argument(index)], ...rules, [RETURN, 0, 0, ALLOW]];
  return [[EQUAL, 0, body.length, number], ...body];
}

function numbersByPlace(calls: Processor['modes']): readonly (readonly [place: number, number: number])[] {
  return Object.entries(calls).flatMap(([place, numbers]) => numbers.map((number) => [Number(place), number] as const));
}
