import * as z from 'zod';
import type { PairedPerson, Pairing } from '../../bus/pairing.ts';
import { answers } from './operation.ts';

export const people = {
  pairList: answers<Pairing>()({
    description:
      'Lists the people who were let in by a pairing code or the configuration, and the codes that wait for approval.',
    role: 'owner',
    changes: false,
    params: z.object({}),
  }),
  pairApprove: answers<PairedPerson & { /** What the role allows, for people. */ readonly may: string }>()({
    description:
      'Lets in the person who received this code, or gives a paired person another role; `pairing-code` if no such code waits, `pairing-locked` after wrong ones, `pairing-person` for an unknown person.',
    role: 'owner',
    changes: true,
    params: z.object({
      code: z.string().describe('The code, or `CHANNEL:ID` of a person who is paired.'),
      role: z
        .enum(['owner', 'trusted', 'guest'])
        .exactOptional()
        .describe('What the person may do; without it, `trusted`.'),
    }),
    audit: ({ code, role = 'trusted' }) => `pair approve ${code} as ${role}`,
  }),
  pairRemove: answers<
    PairedPerson & {
      /** A sentence if the configuration still lets them in. */
      readonly still: string | null;
      /** A sentence if the channel has no owner now. */
      readonly ownerless: string | null;
    }
  >()({
    description:
      'Removes a paired person, who may no longer write to the assistant; `pairing-person` if no code let them in.',
    role: 'owner',
    changes: true,
    params: z.object({ person: z.string().describe('`CHANNEL:ID`, such as `telegram:123456789`.') }),
  }),
};
