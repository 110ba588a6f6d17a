import { Questions } from '../../agent/questions/questions.ts';
import type { Base } from '../base.ts';
import type { Channels } from '../channels.ts';
import { questionCloser } from './question-closer.ts';
import { questionFiles } from './question-file.ts';
import type { Stores } from '../storage/stores.ts';

/** Characters that a message of any platform holds. */
const SHORTEST_LIMIT = 1_000;

/** The questions to people, joined with the channels that carry them. */
export function createQuestions(
  { clock, random, log, redact }: Base,
  { journal, media }: Pick<Stores, 'journal' | 'media'>,
  { manager, isOpen }: Pick<Channels, 'manager' | 'isOpen'>,
): Questions {
  const { outbox } = journal;
  return new Questions({
    clock,
    random,
    closed: questionCloser({ outbox, manager, clock, log }),
    redact,
    mask: (text) => redact(text, { knownBy: 'value' }),
    messages: (question) =>
      manager.renderParts(question)?.length ?? (question.text.length > SHORTEST_LIMIT ? Infinity : 1),
    attach: questionFiles({ manager, media, outbox, clock }),
    ledger: journal.questions,
    allowances: journal.allowances,
    reaches: isOpen,
  });
}
