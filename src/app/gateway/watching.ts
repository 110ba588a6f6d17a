import { FROM } from '../../core/bus/messages.ts';
import type { App } from '../../core/app.ts';
import type { FeedOptions } from '../../core/gateway/feed/feed.ts';
import type { Row, WaitingQuestion } from '../../core/gateway/http/wire.ts';
import type { FeedRow } from '../../core/journal/feed.ts';
import type { QuestionRow } from '../../core/journal/questions.ts';
import type { Redact } from '../../core/security/redact/redact.ts';
import { cut as shortened, shellWord } from '../../core/util/text.ts';

const LONGEST_TEXT = 20_000;
/** Of each direction, for a page of a history. */
const MOST_BESIDE = 200;

/** The durable messages as the page is shown them, without secrets. */
export function rowsOf({ journal: { feed }, redact }: App): FeedOptions['journal'] {
  return {
    newest: () => feed.newest(),
    after: (place, limit) => {
      const { rows, cursor } = feed.after(place, limit);
      return { rows: rows.map((row) => toRow(row, redact)), cursor };
    },
    onQueued: (listener) => feed.onQueued(listener),
  };
}

/** What people read in a session beside its tape, between two times. */
export function besideTape(
  { journal, redact }: App,
  session: string,
  between: { readonly from: number; readonly to: number },
): readonly Row[] {
  return journal.feed.besideTape(session, between, MOST_BESIDE).map((row) => toRow(row, redact));
}

function toRow({ session, state, turn, at, ...row }: FeedRow, redact: Redact): Row {
  const { id, channel, chatId: chat } = row.message;
  const whole = redact(
    row.message.text,
    row.direction === 'out' && row.message.kind === 'approval' ? SHOWS_RUNS : undefined,
  );
  const cut = whole.length > LONGEST_TEXT;
  const text = shortened(whole, LONGEST_TEXT);
  const facts = { id, session, channel, chat, text, turn, at, state, ...(cut ? { cut } : {}) };
  if (row.direction === 'in') {
    const { origin, externalId, sender, media } = row.message;
    return {
      ...facts,
      direction: 'in',
      kind: origin,
      // The page gave it without the prefix.
      externalId: externalId.replace(/^m:/u, ''),
      ...(sender.name === undefined ? {} : { sender: sender.name }),
      ...filesOf(media, () => null),
    };
  }
  const { kind, buttons, media, metadata } = row.message;
  const from = metadata[FROM];
  return {
    ...facts,
    direction: 'out',
    kind,
    ...(typeof from === 'string' ? { from } : {}),
    ...(buttons === undefined ? {} : { buttons }),
    ...filesOf(media, (n) => `/api/outbound/${encodeURIComponent(id)}/media/${n}`),
  };
}

/** Of what will run, only the secrets of the configuration are missing. */
const SHOWS_RUNS = { knownBy: 'value' } as const;

function filesOf(media: FeedRow['message']['media'], urlOf: (n: number) => string | null): Pick<Row, 'media'> {
  if (media.length === 0) return {};
  return {
    media: media.map(({ name, kind, mediaType }, n) => ({ name: name ?? kind, mediaType, url: urlOf(n) })),
  };
}

/** The open turns of which people see the progress. */
export function continuedTurns({ journal }: App): ReturnType<FeedOptions['continued']> {
  return journal.turns.open().flatMap(({ id, session, isCommand, messages }) => {
    const target = messages.at(-1);
    const isSeen = !isCommand && target?.origin === 'user' && target.mentioned;
    return isSeen ? [{ session, turn: id }] : [];
  });
}

/** The questions that wait for a person, the oldest first. */
export function waitingQuestions({ journal: { questions }, redact }: App): readonly WaitingQuestion[] {
  return [...questions.waiting('approval'), ...questions.waiting('ask')].map((row) => toWaiting(row, redact));
}

function toWaiting({ code, kind, session, deadline, choices, request }: QuestionRow, redact: Redact): WaitingQuestion {
  const shown = (text: string): string => redact(text, kind === 'approval' ? SHOWS_RUNS : undefined);
  return {
    code,
    kind,
    session,
    title: shown(request.title),
    detail: shown(request.detail),
    reason: shown(request.reason),
    choices: choices.map((choice) => redact(choice)),
    always: request.always === undefined ? null : shown(request.always.program.map(shellWord).join(' ')),
    deadline,
  };
}
