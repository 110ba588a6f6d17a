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
  ...rows({ fixedBy: '23c', why: 'Addresses count by their author there, which replaces the comparison of texts.' }, [
    'S2 in a background command that fails',
    'S2 in a file that is read',
    'S2 in a file that is searched',
    'S2 in a list that is read',
    'S2 in a page that is read',
    'S2 in a remark of a background command',
    'S2 in a reply to bold letters',
    'S2 in a reply to code',
    'S2 in a reply to slanted letters',
    'S2 in a reply to struck letters',
    'S2 in a reply to what holds a sign without width',
    'S2 in a table that is read',
    'S2 in an error of a background command',
    'S2 in an argument of a background command',
    'S2 in the output of a background command',
  ]),
  ...rows({ fixedBy: '23c', why: 'The count of fetches becomes one per chat and day there, whatever the site.' }, [
    'S3 a name for each letter',
    'S3 addresses of IPv4',
    'S3 addresses of IPv6',
    'S3 networks of IPv6',
    'S3 short names below another country',
    'S3 short names of a country',
  ]),
  ...rows(
    { fixedBy: '23c', why: 'Every tool that is not built in asks there, with its question for the tools of a server.' },
    [
      'S4 a list that is sent',
      'S4 a text that is sent',
      'S4 a text that is sent in a batch',
      'S4 an address that is sent',
      'S4 everything that is deleted',
      'S4 nothing that is sent',
    ],
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
