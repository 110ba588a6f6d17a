import { computed, signal } from '@preact/signals';
import { panelNamed } from './panels.ts';

export type PanelName = string;

/** What is shown: a conversation, or one of the panels. */
export type Place =
  | { readonly session: string }
  | { readonly panel: PanelName; /** Of `why`: the turn that it is about. */ readonly turn?: string };

/** The conversation that opens first: the session to which the assistant takes what is written to the chat `main`. */
export const main = signal('web:main');

/** Sessions of other names to which it takes what is written to a chat of the page: session → chat. */
const chats = new Map<string, string>();

const fragment = signal(location.hash);

/** Follows the fragment of the address, so that back and forward work. */
export const place = computed<Place>(() => read(fragment.value));

export function hashOf(to: Place): string {
  if ('panel' in to) return `#/${to.panel}${to.turn === undefined ? '' : `/${to.turn}`}`;
  if (to.session === main.value) return '#/';
  const chat = chats.get(to.session);
  return `#/chat/${encodeURIComponent(to.session)}${chat === undefined ? '' : `/${chat}`}`;
}

export function go(to: Place): void {
  location.hash = hashOf(to);
}

window.addEventListener('hashchange', () => (fragment.value = location.hash));

function read(hash: string): Place {
  const [, first = '', second = '', third = ''] = hash.split('/');
  if (isPanel(first)) return { panel: first, ...(/^[\w-]{1,64}$/u.test(second) ? { turn: second } : {}) };
  const session = first === 'chat' ? decoded(second) : '';
  if (/^[\w-]{1,64}$/u.test(third)) chats.set(session, third);
  return { session: session === '' ? main.value : session };
}

function isPanel(name: string): boolean {
  return panelNamed(name) !== undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** The chat of the page that is a conversation; undefined: it belongs to another channel and can only be read. */
export function chatOf(session: string): string | undefined {
  if (session === main.value) return 'main';
  return chats.get(session) ?? (session.startsWith('web:') ? session.slice(4) : undefined);
}

/** Notes to which session the assistant took a message. If another one is shown for its chat, that one is shown instead. */
export function takenTo(session: string, chat: string): void {
  const to = place.value;
  const isElsewhere = 'session' in to && to.session !== session && chatOf(to.session) === chat;
  if (chat === 'main') main.value = session;
  else if (session !== `web:${chat}`) chats.set(session, chat);
  if (isElsewhere) go({ session });
}
