import * as z from 'zod';
import { pairedPerson, pairing } from '../../bus/pairing.ts';
import { operation } from './operation.ts';

export const pairList = operation({
  name: 'pairList',
  about:
    'Lists the people who were let in by a pairing code or the configuration, and the codes that wait for approval.',
  changes: null,
  input: z.object({}),
  output: pairing,
  run: async (app) => app.pairing.list(),
});

export const pairApprove = operation({
  name: 'pairApprove',
  about:
    'Lets in the person who received this code, or gives a paired person another role; `pairing-code` if no such code waits, `pairing-locked` after wrong ones, `pairing-person` for an unknown person.',
  changes: 'people',
  input: z.object({
    code: z.string().describe('The code, or `CHANNEL:ID` of a person who is paired.'),
    role: z
      .enum(['owner', 'trusted', 'guest'])
      .exactOptional()
      .describe('What the person may do; without it, `trusted`.'),
  }),
  output: pairedPerson.extend({
    /** What the role allows, for people. */
    may: z.string(),
  }),
  audit: ({ code, role = 'trusted' }) => `pair approve ${code} as ${role}`,
  run: (app, { code, role = 'trusted' }, { door }) =>
    app.pairing.approve(code, { by: door.split(':')[0] ?? door, role }),
});

export const pairRemove = operation({
  name: 'pairRemove',
  about: 'Removes a paired person, who may no longer write to the assistant; `pairing-person` if no code let them in.',
  changes: 'people',
  input: z.object({ person: z.string().describe('`CHANNEL:ID`, such as `telegram:123456789`.') }),
  output: pairedPerson.extend({
    /** A sentence if the configuration still lets them in. */
    still: z.string().nullable(),
    /** A sentence if the channel has no owner now. */
    ownerless: z.string().nullable(),
  }),
  run: (app, { person }) => app.pairing.remove(person),
});
