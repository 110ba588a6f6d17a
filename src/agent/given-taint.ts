import * as z from 'zod';
import { heldAtButton } from '../bus/buttons.ts';
import type { InboundMessage } from '../bus/messages.ts';
import type { TaintBits } from '../security/taint.ts';

const bits = z.object({ untrusted: z.boolean(), private: z.boolean() });
const NONE: TaintBits = { untrusted: false, private: false };

/** What a message that people did not write brings along from where it comes from: a file, another session, a model's button. */
export function givenTaint(message: Pick<InboundMessage, 'origin' | 'metadata' | 'action'>): TaintBits {
  const { origin, metadata } = message;
  const held = heldAtButton(message);
  if (held !== null) return held;
  if (origin === 'user' || metadata['taint'] === undefined) return NONE;
  // What cannot be read counts as the worst.
  return bits.safeParse(metadata['taint']).data ?? { untrusted: true, private: true };
}
