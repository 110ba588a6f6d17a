import { signal } from '@preact/signals';
import type { MessageInput, MessageReply } from '../../gateway/http/wire.ts';
import { now, pause } from '../clock.ts';
import { newId } from '../net/ids.ts';
import { isOffline, post, sentenceOf } from '../net/http.ts';

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
export async function sendMessage(input: Omit<MessageInput, 'id'>): Promise<void> {
  const message: Unsent = { ...input, id: newId(), at: now(), state: 'sending' };
  keep([...unsent.value, message]);
  await deliver(message);
}

let running: Promise<void> | undefined;

/** Sends what is still here from before a reload or an interruption, oldest first. */
export function sendWaiting(): void {
  running ??= (async () => {
    for (const message of unsent.value.filter(({ state }) => state === 'sending')) await deliver(message);
  })().finally(() => (running = undefined));
}

/** Forgets a message: it was shown back, or its writer gave it up. */
export function forget(id: string): void {
  if (unsent.value.some((message) => message.id === id)) keep(unsent.value.filter((message) => message.id !== id));
}

/** Sends a refused message once more. */
export async function sendAgain(message: Unsent): Promise<void> {
  const { problem: _, ...rest } = message;
  const again: Unsent = { ...rest, state: 'sending' };
  change(again);
  await deliver(again);
}

async function deliver(message: Unsent): Promise<void> {
  const { at: _, state: __, problem: ___, ...body } = message;
  try {
    const { accepted } = await post<MessageReply>('/api/messages', body);
    if (accepted === 'refused') {
      change({ ...message, state: 'failed', problem: 'Too many messages wait in this conversation. Try again later.' });
      return;
    }
    change({ ...message, state: 'accepted' });
    // The message comes back as a row within moments; one that does not is on its way anyway.
    await pause(20_000);
    forget(message.id);
  } catch (error) {
    if (!isOffline(error)) change({ ...message, state: 'failed', problem: sentenceOf(error) });
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
