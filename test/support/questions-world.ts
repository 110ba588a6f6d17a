import { join } from 'node:path';
import { readAnswer } from '../../src/core/agent/questions/answers.ts';
import { Questions, type AskedCall } from '../../src/core/agent/questions/questions.ts';
import type { InboundMessage } from '../../src/core/bus/messages.ts';
import type { App } from '../../src/core/app.ts';
import type { AnswerTaken } from '../../src/core/journal/answers.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { appWith } from './app-with.ts';
import { inboundMessage } from './inbound.ts';
import { tempFolder } from './temp.ts';
import { settle, VirtualClock } from './virtual-clock.ts';

/** The owner's direct chat. */
// Its id is none that a test gives to a message: the numbers that are given by default go on over all files of a worker.
const OWNERS_CHAT = inboundMessage({ chatId: '42', sender: { id: '42', isBot: false }, externalId: 'first' });

/** Questions over a real journal, in a time that only passes when it is told to. */
export interface QuestionsWorld extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly journal: Journal;
  /** What every message that answered, or tried to, came to. */
  readonly taken: readonly AnswerTaken[];
  /** Those of a first process. */
  readonly questions: Questions;
  /** As a process has it; each call is a new process. */
  start(isOpen?: (channel: string) => boolean): Questions;
  call(overrides?: Partial<AskedCall>): AskedCall;
  /** Everything that waits to be sent is delivered; `first`: the platform's number of the first message. */
  deliver(first?: number): Promise<void>;
  /** A message comes in from somebody who saw everything that was sent. */
  sends(overrides: Partial<InboundMessage>): Promise<void>;
  /** A message comes in, whatever was sent. */
  receives(overrides: Partial<InboundMessage>): Promise<void>;
  /** What waits to be sent: chat and text. */
  sent(): readonly (readonly [chat: string, text: string])[];
}

export async function openQuestionsWorld(): Promise<QuestionsWorld> {
  const folder = await tempFolder();
  const clock = new VirtualClock();
  const path = join(folder.path, 'state.db');
  const newId = createIds(clock, systemRandom);
  const journal = await openJournal({ path, backupPath: null, clock, newId, interpret: readAnswer });
  const stop = new AbortController();
  const taken: AnswerTaken[] = [];
  let messages = 0;
  journal.inbox.onAnswer((one) => void taken.push(one));
  await journal.inbox.accept([OWNERS_CHAT]);
  const start = (isOpen = (channel: string): boolean => channel === 'telegram'): Questions => {
    const manager = { renderParts: () => [''], outlet: () => 'unknown' };
    const questions = new Questions(
      appWith({
        journal,
        clock,
        random: systemRandom,
        redact: (text, { knownBy } = {}) => (knownBy === 'value' ? text.replaceAll('sk-secret', '[redacted]') : text),
        channels: { manager, isOpen } as unknown as App['channels'],
        people: { ownersChat: () => journal.questions.ownersChat() } as App['people'],
        log: silentLog,
      }),
    );
    journal.inbox.onAnswer((one) => questions.answered(one));
    return questions;
  };
  const deliver = async (first = 1): Promise<void> => {
    for (const [n, { message }] of journal.outbox.page(0, 100).entries()) {
      await journal.outbox.render(message.id, [message.text]);
      await journal.outbox.sending(message.id, 0, { resend: false });
      await journal.outbox.delivered(message.id, 0, String(first + n));
    }
  };
  const receives = async (overrides: Partial<InboundMessage>): Promise<void> => {
    const id = `said-${(messages += 1)}`;
    const receivedAt = clock.now();
    await journal.inbox.accept([
      inboundMessage({ ...OWNERS_CHAT, externalId: `b:${id}`, receivedAt, ...overrides, id }),
    ]);
    await settle();
  };
  return {
    clock,
    journal,
    taken,
    questions: start(),
    start,
    call: (overrides = {}) => ({
      sessionKey: 'telegram:42',
      callId: 't.1',
      turnId: 't',
      signal: stop.signal,
      target: OWNERS_CHAT,
      ...overrides,
    }),
    deliver,
    receives,
    sends: async (overrides) => {
      await deliver();
      await receives(overrides);
    },
    sent: () => journal.outbox.page(0, 100).map(({ message: { chatId, text } }) => [chatId, text]),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      journal[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
