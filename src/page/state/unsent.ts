import { signal } from '@preact/signals';
import type { MessageInput, MessageReply } from '../../core/gateway/http/wire.ts';
import { after, now } from '../clock.ts';
import { newId } from '../net/ids.ts';
import { isOffline, post, sentenceOf } from '../net/http.ts';
import { takenTo } from './place.ts';

/** A message that this tab sends and that the assistant has not shown back yet. */
export interface Unsent extends MessageInput {
  readonly at: number;
  /** `failed`: the assistant refused it. */
  readonly state: 'sending' | 'accepted' | 'failed';
  readonly problem?: string;
}

const KEY = 'assistant.unsent';
/** Above this the browser's store is not asked to keep it over a reload. */
const MOST_KEPT = 200_000;

/** In the order in which they were written; they stay over a reload. */
export const unsent = signal<readonly Unsent[]>(kept());

/** Sends a message to a conversation of the page, and again until it got through. */
export function sendMessage(input: Omit<MessageInput, 'id'>): void {
  keep([...unsent.value, { ...input, id: newId(), at: now(), state: 'sending' }]);
  sendWaiting();
}

let isSending = false;
let isAskedAgain = false;

/** Sends what was not accepted yet, one after the other in the order in which it was written. */
export function sendWaiting(): void {
  isAskedAgain = true;
  if (!isSending) void deliverAll();
}

async function deliverAll(): Promise<void> {
  isSending = true;
  try {
    while (isAskedAgain) {
      isAskedAgain = false;
      for (let next = firstWaiting(); next !== undefined && (await deliver(next));) next = firstWaiting();
    }
  } finally {
    // In the same moment as the last look, so that no one who asks meanwhile is missed.
    isSending = false;
  }
}

function firstWaiting(): Unsent | undefined {
  return unsent.value.find(({ state }) => state === 'sending');
}

/** Forgets a message: it was shown back, or its writer gave it up. */
export function forget(id: string): void {
  if (unsent.value.some((message) => message.id === id)) keep(unsent.value.filter((message) => message.id !== id));
}

/** Sends a refused message once more. */
export function sendAgain(message: Unsent): void {
  const { problem: _, ...rest } = message;
  change({ ...rest, state: 'sending' });
  sendWaiting();
}

/** False: the assistant cannot be reached. */
async function deliver(message: Unsent): Promise<boolean> {
  const { at: _, state: __, problem: ___, ...body } = message;
  try {
    const { accepted, session } = await post<MessageReply>('/api/messages', body);
    takenTo(session, message.chat);
    if (accepted === 'refused') {
      change({ ...message, state: 'failed', problem: 'Too many messages wait in this conversation. Try again later.' });
      return true;
    }
    change({ ...message, state: 'accepted' });
    // The message comes back as a row within moments; one that does not is on its way anyway.
    after(20_000, () => forget(message.id));
    return true;
  } catch (error) {
    if (isOffline(error)) return false;
    change({ ...message, state: 'failed', problem: sentenceOf(error) });
    return true;
  }
}

function change(message: Unsent): void {
  keep(unsent.value.map((other) => (other.id === message.id ? message : other)));
}

function keep(messages: readonly Unsent[]): void {
  unsent.value = messages;
  const text = JSON.stringify(messages.filter(({ state }) => state === 'sending'));
  try {
    if (text === '[]') localStorage.removeItem(KEY);
    else if (text.length < MOST_KEPT) localStorage.setItem(KEY, text);
  } catch {
    // A browser without a store: the message is still sent from here.
  }
}

function kept(): readonly Unsent[] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '[]') as readonly Unsent[];
  } catch {
    return [];
  }
}
