import * as z from 'zod';
import type { InboundMessage } from '../bus/messages.ts';
import type { TaintBits } from '../security/taint.ts';

const bits = z.object({ untrusted: z.boolean(), private: z.boolean() });
const NONE: TaintBits = { untrusted: false, private: false };

/** What a message of the program's own brings along from where it comes from: a file, another session. */
export function givenTaint({ origin, metadata }: Pick<InboundMessage, 'origin' | 'metadata'>): TaintBits {
  if (origin === 'user' || metadata['taint'] === undefined) return NONE;
  // What can not be read counts as the worst.
  return bits.safeParse(metadata['taint']).data ?? { untrusted: true, private: true };
}
