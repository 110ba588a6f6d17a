import { test } from 'vitest';

/** A fault with a failing test whose fix is planned. */
export interface KnownFault {
  /** The number in the title of the issue that will fix it. */
  readonly fixedBy: string;
  /** Why it isn't fixed now, in one sentence. */
  readonly why: string;
}

/** Known faults by id. Keys start with the finding's id, e.g. `S1 read by a command`. */
export const KNOWN_FAULTS = {
  ...rows(
    {
      fixedBy: '23c',
      why: 'Marks become paths in the journal there, and commands of tainted conversations work on a view.',
    },
    [
      'S1 MEMORY.md',
      'S1 README of a clone',
      'S1 cat of a pattern',
      'S1 cat of what a command wrote',
      'S1 find that reads',
      'S1 grep of a folder',
      'S1 head of a pattern',
      'S1 read after cp',
      'S1 read after mv',
    ],
  ),
  ...rows({ fixedBy: '23c', why: 'Files carry the role of their author only once marks are rows of the journal.' }, [
    'S6 as a table',
    'S6 as the name of a file',
    'S6 found by a search',
    'S6 in a folder',
    'S6 read as a file',
  ]),
  ...rows(
    {
      fixedBy: '23c',
      why: 'What git would run is read as bytes there when a command lands, which replaces the walk of repositories.',
    },
    [
      'S7 a bare repository whose name is not UTF-8',
      'S7 a common folder that is not UTF-8',
      'S7 a link to a name that is not UTF-8',
      'S7 a name that is not UTF-8',
      'S7 a repository below a name that is not UTF-8',
    ],
  ),
  ...rows(
    {
      fixedBy: '23c',
      why: 'Commands of tainted conversations work on a view there, which replaces the protection of files by their inodes.',
    },
    [
      'S9 AGENTS.md',
      'S9 AGENTS.md, edited by the assistant',
      'S9 AGENTS.md, written by the assistant',
      'S9 HEARTBEAT.md',
      'S9 HEARTBEAT.md, edited by the assistant',
      'S9 SOUL.md',
      'S9 SOUL.md, edited by the assistant',
      'S9 TOOLS.md',
      'S9 TOOLS.md, edited by the assistant',
      'S9 USER.md',
      'S9 USER.md, edited by the assistant',
    ],
  ),
  ...rows(
    {
      fixedBy: '23c',
      why: 'A command that landed can be undone there.',
    },
    [
      'S10 files that a program removes',
      'S10 files that are emptied',
      'S10 files that are found and deleted',
      'S10 files that are moved into nothing',
      'S10 files that are overwritten',
      'S10 files that are removed',
    ],
  ),
  ...rows(
    { fixedBy: '23c', why: 'A question about a program lists and shows the marked files there, once marks are paths.' },
    ['S11 bash', 'S11 make', 'S11 node', 'S11 python', 'S11 sh'],
  ),
  ...rows(
    {
      fixedBy: '26',
      why: 'What a group says without meaning the bot is kept in memory until the channels are redone.',
    },
    ['A12 a restart between the parts of an album in a group'],
  ),
} satisfies Readonly<Record<string, KnownFault>>;

export type KnownFaultId = keyof typeof KNOWN_FAULTS;

/** The variants of a family, which have the same reason. */
function rows<const Id extends string>(fault: KnownFault, ids: readonly Id[]): Record<Id, KnownFault> {
  return Object.fromEntries(ids.map((id) => [id, fault])) as Record<Id, KnownFault>;
}

/**
 * Registers a test that must still fail because of a known fault.
 *
 * The body is written as if the fault were fixed. Only a failed expectation counts as the fault: any other error fails
 * the run, and so does a body that passes, because the fault is gone then and its row must be removed.
 */
export function knownFault(id: keyof typeof KNOWN_FAULTS, body: () => Promise<void>): void {
  const fault: KnownFault | undefined = KNOWN_FAULTS[id];
  if (fault === undefined) throw new Error(`test/known-faults.ts has no fault “${id}”`);
  test(`${id} (known until issue ${fault.fixedBy})`, async () => {
    try {
      await body();
    } catch (error) {
      if (error instanceof Error && error.name === 'AssertionError') return;
      throw error;
    }
    throw new Error(`“${id}” works now: remove it from test/known-faults.ts and make this an ordinary test`);
  });
}
