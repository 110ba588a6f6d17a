import * as z from 'zod';
import type { InboundMessage } from '../bus/messages.ts';
import type { TaintBits } from '../security/taint.ts';

const bits = z.object({ untrusted: z.boolean(), private: z.boolean() });

/** What the program's own messages bring along from where they come from: a file, another session. */
export function givenTaint(messages: readonly InboundMessage[]): TaintBits {
  const given = messages.flatMap(({ origin, metadata }) => {
    if (origin === 'user' || metadata['taint'] === undefined) return [];
    const parsed = bits.safeParse(metadata['taint']);
    // What can not be read counts as the worst.
    return [parsed.success ? parsed.data : { untrusted: true, private: true }];
  });
  return { untrusted: given.some((one) => one.untrusted), private: given.some((one) => one.private) };
}
