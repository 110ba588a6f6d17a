import type { CalledSkill } from '../../src/core/agent/prompt/active-skills.ts';
import { userEntry } from '../../src/core/agent/prompt/user-message.ts';
import type { InboundMessage } from '../../src/core/bus/messages.ts';
import type { ToldReaction } from '../../src/core/bus/reactions.ts';
import type { App } from '../../src/core/app.ts';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import { MediaStore } from '../../src/core/storage/media.ts';
import { appWith } from './app-with.ts';
import { inboundMessage } from './inbound.ts';

interface Surroundings {
  /** What is taken out of texts. */
  readonly secret: string;
  /** @default the machine's */
  readonly timezone?: string;
  /** Those that the message calls. @default none */
  readonly skills?: readonly CalledSkill[];
  /** @default none */
  readonly reactions?: readonly ToldReaction[];
}

/** The entry of a message on the tape of the turn `T`. */
export function entryOf(
  message: Partial<InboundMessage>,
  { secret, timezone, skills = [], reactions = [] }: Surroundings,
): Promise<EntryDraft> {
  const app = appWith({
    config: { agent: { timezone: timezone ?? null } } as App['config'],
    redact: (text) => text.replaceAll(secret, '[redacted]'),
    media: new MediaStore('/nonexistent'),
    attachments: {
      fetch: async ({ media }: InboundMessage) => ({ media, spoken: [], heard: [], notes: [] }),
    } as unknown as App['attachments'],
    turnSkills: { called: async () => skills } as unknown as App['turnSkills'],
    journal: {
      reactions: { toldWith: () => reactions },
      lives: { sentAs: (_: unknown, id: string) => (id === '1' ? { untrusted: false } : undefined) },
    } as unknown as App['journal'],
  });
  return userEntry('T', inboundMessage(message), { app, signal: new AbortController().signal });
}
