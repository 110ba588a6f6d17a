import { apiFactsOf, type GivenMessage } from '../../bus/api.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import { boundaryFor, fence } from '../../security/text/untrusted.ts';
import type { EntryDraft } from '../../session/entry.ts';
import type { Session } from '../../session/session.ts';
import { noUsage } from '../../util/token-usage.ts';
import { turnEndEntry } from '../turn/end.ts';

const GIVEN = { provider: 'given', model: 'given', stopReason: 'stop', usage: null } as const;

/**
 * Puts the conversation that a program brought with its message on the tape, before the turn begins: each exchange as a
 * turn that has ended, so that a long conversation is trimmed like any other. May be repeated: the ids of the entries are
 * made from that of the message.
 */
export async function takeGivenConversation(
  session: Session,
  { newest, redact }: { readonly newest: InboundMessage; readonly redact: (text: string) => string },
): Promise<void> {
  const given = (apiFactsOf(newest)?.conversation ?? []).map((message) => ({
    ...message,
    content: message.content.map((part) => (part.type === 'text' ? { ...part, text: redact(part.text) } : part)),
  }));
  const drafts = exchangesOf(given).flatMap((exchange, n) => turnOf(exchange, `${newest.id}.t${n}`, newest));
  if (drafts.length === 0) return;
  await session.append(drafts.map((draft, n) => ({ ...draft, id: `${newest.id}.${n}` })));
}

/** Messages of the user, and the answers to them. */
function exchangesOf(given: readonly GivenMessage[]): readonly (readonly GivenMessage[])[] {
  const exchanges: GivenMessage[][] = [];
  for (const [n, message] of given.entries()) {
    const begins = message.role === 'user' && given[n - 1]?.role !== 'user';
    if (begins || exchanges.length === 0) exchanges.push([]);
    exchanges.at(-1)?.push(message);
  }
  return exchanges;
}

function turnOf(exchange: readonly GivenMessage[], turn: string, target: InboundMessage): readonly EntryDraft[] {
  const answer = exchange.findLast(({ role }) => role === 'assistant');
  const text = answer?.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n') ?? '';
  const facts = { usage: noUsage, model: null, iterations: 0, target };
  return [
    { kind: 'turn-start', turn, sources: [], role: target.role, origin: target.origin },
    ...exchange.map((message) => entryOf(message, turn)),
    turnEndEntry({ turnId: turn, outcome: 'answered', answer: text, ...facts }),
  ];
}

function entryOf({ role, content, untrusted = false }: GivenMessage, turn: string): EntryDraft {
  if (role === 'assistant') {
    const texts = content.filter((part) => part.type === 'text');
    return { kind: 'message', role, turn, content: texts, ...GIVEN };
  }
  if (!untrusted) return { kind: 'message', role, turn, sources: [], content };
  const fenced = content.map((part) =>
    part.type === 'text'
      ? { ...part, text: fence(part.text, { source: 'tool result', boundary: boundaryFor(turn, part.text) }) }
      : part,
  );
  const marks = { untrusted: true, source: 'what a program sent along' };
  return { kind: 'message', role, turn, sources: [], content: fenced, ...marks };
}
