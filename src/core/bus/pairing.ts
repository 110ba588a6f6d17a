import * as z from 'zod';

/** A person who got a role by a pairing code. Times are milliseconds since 1970. */
export const pairedPerson = z.object({
  channel: z.string(),
  id: z.string(),
  /** The name that the person chose; not verified. */
  name: z.string().nullable(),
  role: z.enum(['owner', 'trusted', 'guest']),
  addedAt: z.number(),
  addedBy: z.string(),
});
export type PairedPerson = Readonly<z.output<typeof pairedPerson>>;

/** Who may write to the assistant, and who waits for the approval of their code. */
export const pairing = z.object({
  people: z.array(pairedPerson).readonly(),
  /** Whom the configuration lets in; the id `*` is everybody. */
  configured: z.array(pairedPerson.pick({ channel: true, id: true, name: true, role: true })).readonly(),
  pending: z
    .array(
      z.object({
        channel: z.string(),
        id: z.string(),
        name: z.string().nullable(),
        code: z.string(),
        expiresAt: z.number(),
      }),
    )
    .readonly(),
  /** Until when no code is accepted, because too many were wrong; null: codes are accepted. */
  lockedUntil: z.number().nullable(),
  /** Whether at least one channel has an owner. */
  hasOwner: z.boolean(),
});
export type Pairing = Readonly<z.output<typeof pairing>>;
