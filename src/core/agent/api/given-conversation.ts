import { API_CHANNEL, apiFactsOf, type GivenMessage } from '../../bus/api.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import { boundaryFor, fence } from '../../security/text/untrusted.ts';
import type { EntryDraft } from '../../session/entry.ts';
import type { Session } from '../../session/session.ts';
import { noUsage } from '../../util/token-usage.ts';
import { turnEndEntry } from '../turn/end.ts';
import type { SaidBefore } from './said-before.ts';

const GIVEN = { provider: 'given', model: 'given', stopReason: 'stop', usage: null } as const;
const BROUGHT = { untrusted: true, source: 'what a program sent along' } as const;

/**
 * Puts the conversation that a program brought with its message on the tape, before the turn begins: each exchange as a
 * turn that has ended, so that a long conversation is trimmed like any other. May be repeated: the ids of the entries are
 * made from that of the message.
 */
export async function takeGivenConversation(
  session: Session,
  {
    newest,
    redact,
    said,
  }: {
    readonly newest: InboundMessage;
    readonly redact: (text: string) => string;
    readonly said: SaidBefore;
  },
): Promise<void> {
  if (newest.channel === API_CHANNEL)
    said.remember(redact(newest.text), { untrusted: newest.untrusted, private: false });
  const given = (apiFactsOf(newest)?.conversation ?? []).map((message) => ({
    ...message,
    content: message.content.map((part) => (part.type === 'text' ? { ...part, text: redact(part.text) } : part)),
  }));
  const drafts = exchangesOf(given).flatMap((exchange, n) =>
    turnOf(exchange, `${newest.id}.t${n}`, { target: newest, said }),
  );
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

function turnOf(
  exchange: readonly GivenMessage[],
  turn: string,
  { target, said }: { readonly target: InboundMessage; readonly said: SaidBefore },
): readonly EntryDraft[] {
  const answer = exchange.findLast(({ role }) => role === 'assistant');
  const text = answer?.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n') ?? '';
  const facts = { usage: noUsage, model: null, iterations: 0, target };
  return [
    { kind: 'turn-start', turn, sources: [], role: target.role, origin: target.origin },
    ...exchange.map((message) => entryOf(message, turn, said)),
    turnEndEntry({ turnId: turn, outcome: 'answered', answer: text, ...facts }),
  ];
}

function entryOf({ role, content, untrusted = false }: GivenMessage, turn: string, said: SaidBefore): EntryDraft {
  const texts = content.filter((part) => part.type === 'text');
  // A program can write anything there; only what was said with no marks comes back with none, and images never do.
  const known = said.marksOf(texts.map(({ text }) => text).join('\n'));
  const hasImages = texts.length < content.length;
  const marks = {
    ...(untrusted || hasImages || known.untrusted ? BROUGHT : {}),
    ...(known.private ? { private: true } : {}),
  };
  if (role === 'assistant') return { kind: 'message', role, turn, content: texts, ...GIVEN, ...marks };
  const fenced = (text: string): string =>
    untrusted ? fence(text, { source: 'tool result', boundary: boundaryFor(turn, text) }) : text;
  const parts = content.map((part) => (part.type === 'text' ? { ...part, text: fenced(part.text) } : part));
  return { kind: 'message', role, turn, sources: [], content: parts, ...marks };
}
