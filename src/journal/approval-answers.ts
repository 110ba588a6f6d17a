import type { InboundMessage } from '../bus/messages.ts';
import { rememberNow } from './allowances.ts';
import { cut } from '../util/text.ts';
import { toApproval, type ApprovalPorts, type ApprovalRow } from './approvals.ts';

/** What a message did to a question. */
export interface Answered {
  readonly callId: string;
  readonly approved: boolean;
  readonly reason: string;
  /** `channel:id` of who answered. */
  readonly by: string;
  /** What people call them. */
  readonly name: string;
}

/** Ids of the buttons under a question: one of these and its code. */
export const BUTTONS = { approve: 'approve:', always: 'always:', deny: 'deny:' } as const;

/** What is told after the commit of a message that answers a question, or tries to. */
export interface AnswerTaken {
  readonly message: InboundMessage;
  /** Null: it changed nothing. */
  readonly answered: Answered | null;
  /** What the person is told. */
  readonly reply: string;
}

type Taken = Omit<AnswerTaken, 'message'>;

type Verdict = 'approve' | 'always' | 'deny';

interface Answer {
  readonly verdict: Verdict;
  /** As the person wrote it; null: the one that waits in this chat. */
  readonly code: string | null;
  readonly reason: string;
}

/**
 * Part of the transaction that accepts a message: when it answers a question, or tries to, it is settled here and gets
 * no turn. Null: it is about something else.
 */
export function answerQuestion(ports: ApprovalPorts, message: InboundMessage): AnswerTaken | null {
  const taken = take(ports, message);
  if (taken === null) return null;
  say(ports, message, taken.reply);
  return { message, ...taken };
}

function take(ports: ApprovalPorts, message: InboundMessage): Taken | null {
  const answer = answerIn(message);
  if (answer !== null) return settle(ports, message, answer);
  // What the owner says instead of an answer is a no, and why.
  if (message.role !== 'owner' || message.origin !== 'user' || message.untrusted) return null;
  if (message.text.trim() === '' || /^[/／,，]/u.test(message.text)) return null;
  const open = openIn(ports, message);
  if (open === undefined) return null;
  const words = { verdict: 'deny', code: null, reason: message.text.trim() } as const;
  return decide(ports, message, open, words, 'Not allowed: I took your message as the answer.');
}

function answerIn({ action, text, untrusted, origin }: InboundMessage): Answer | null {
  if (action !== undefined) return pressed(action.id);
  if (untrusted || origin !== 'user') return null;
  const match = /^[/／](?<word>approve|deny)(?:@\w+)?(?:\s+(?<rest>[\s\S]+))?$/iu.exec(text.trim());
  if (match?.groups === undefined) return null;
  const { word = '', rest = '' } = match.groups;
  const [first = '', ...more] = rest.trim().split(/\s+/u);
  if (word.toLowerCase() === 'deny') {
    return { verdict: 'deny', code: first === '' ? null : first, reason: rest.trim().slice(first.length).trim() };
  }
  const always = (one: string | undefined): boolean => one?.toLowerCase() === 'always';
  if (always(first)) return { verdict: 'always', code: more[0] ?? null, reason: '' };
  return { verdict: always(more[0]) ? 'always' : 'approve', code: first === '' ? null : first, reason: '' };
}

function pressed(id: string): Answer | null {
  for (const verdict of ['approve', 'always', 'deny'] as const) {
    if (id.startsWith(BUTTONS[verdict])) return { verdict, code: id.slice(BUTTONS[verdict].length), reason: '' };
  }
  return null;
}

function settle(ports: ApprovalPorts, message: InboundMessage, answer: Answer): Taken {
  if (message.role !== 'owner') {
    const command = answer.verdict === 'deny' ? '/deny' : '/approve';
    return nothing(`${message.action === undefined ? command : 'This button'} is for the owner only.`);
  }
  const named = answer.code === null ? undefined : byCode(ports, answer.code);
  const open = named ?? (answer.code === null || isReason(answer) ? openIn(ports, message) : undefined);
  if (open === undefined) {
    const which = answer.code === null ? 'here' : `named ${answer.code.slice(0, 40)}`;
    return nothing(`There is no open question ${which}.`);
  }
  if (open.state !== 'waiting' || open.deadline <= ports.clock.now()) {
    const became = open.state === 'waiting' ? 'expired' : open.state;
    return nothing(`That question is closed already (${became}).`);
  }
  const reason = named === undefined ? [answer.code, answer.reason].join(' ').trim() : answer.reason;
  switch (answer.verdict) {
    case 'deny':
      return decide(ports, message, open, { ...answer, reason }, 'Not allowed.');
    case 'approve':
      return decide(ports, message, open, answer, 'Allowed, once.');
    case 'always':
      return always(ports, message, open, answer);
  }
}

/** `/deny not on a Sunday`: words where a code could be. */
function isReason({ verdict, code, reason }: Answer): boolean {
  return verdict === 'deny' && reason !== '' && code !== null;
}

function always(ports: ApprovalPorts, message: InboundMessage, row: ApprovalRow, answer: Answer): Taken {
  const draft = row.request.always;
  if (draft === undefined) {
    const only = 'Only a plain command that does no more than read or print can be allowed for good.';
    return nothing(`${only} /approve ${row.code} allows it once.`);
  }
  rememberNow(ports, { ...draft, createdBy: nameOf(message) });
  const how = '`assistant approvals` lists what is remembered and forgets it.';
  return decide(ports, message, row, answer, `Allowed, also from now on, exactly as it is. ${how}`);
}

function decide(
  ports: ApprovalPorts,
  message: InboundMessage,
  row: ApprovalRow,
  { verdict, reason: why }: Answer,
  reply: string,
): Taken {
  const { db, clock } = ports;
  const approved = verdict !== 'deny';
  const by = nameOf(message);
  const reason = approved ? '' : why === '' ? 'the owner said no' : `the owner said: ${why}`;
  db.run(
    `UPDATE approvals SET state = ?, reason = ?, answered_by = ?, updated_at = ?
     WHERE call_id = ? AND state = 'waiting'`,
    approved ? 'approved' : 'denied',
    reason,
    by,
    clock.now(),
    row.callId,
  );
  return { answered: { callId: row.callId, approved, reason, by, name: calledBy(message) }, reply };
}

function nothing(reply: string): Taken {
  return { answered: null, reply };
}

/** They chose it themselves: it must not look like anything else. */
function calledBy({ sender: { name, username, id } }: InboundMessage): string {
  const plain = (name ?? username ?? id).replaceAll(/[^\p{L}\p{N} .'-]+/gu, ' ').trim();
  return plain === '' ? id : cut(plain, 60);
}

function nameOf({ channel, sender }: InboundMessage): string {
  return `${channel}:${sender.id}`;
}

function say({ outbox, clock }: ApprovalPorts, message: InboundMessage, text: string): void {
  const { channel, chatId, threadId } = message;
  outbox.insert({
    message: {
      id: `${message.id}:0`,
      channel,
      chatId,
      ...(threadId === undefined ? {} : { threadId }),
      kind: 'notice',
      text,
      turnId: message.id,
      media: [],
      expiresAt: clock.now() + 3_600_000,
      metadata: {},
    },
    parts: [],
  });
}

function byCode({ db }: ApprovalPorts, code: string): ApprovalRow | undefined {
  return db.all('SELECT * FROM approvals WHERE code = ?', code.toLowerCase()).map(toApproval)[0];
}

/** The newest question that waits in the chat of a message. */
function openIn({ db, clock }: ApprovalPorts, { channel, chatId, threadId }: InboundMessage): ApprovalRow | undefined {
  return db
    .all(
      `SELECT * FROM approvals
       WHERE channel = ? AND chat = ? AND thread IS ? AND state = 'waiting' AND deadline > ?
       ORDER BY created_at DESC LIMIT 1`,
      channel,
      chatId,
      threadId ?? null,
      clock.now(),
    )
    .map(toApproval)[0];
}
