import { signal } from '@preact/signals';

export const PANELS = {
  memory: 'Memory & identity',
  skills: 'Skills',
  schedule: 'Schedule',
  usage: 'Usage',
  people: 'People',
  health: 'Health',
  why: 'Why',
} as const;

export type PanelName = keyof typeof PANELS;

/** What is shown: a conversation, or one of the panels. */
export type Place = { readonly session: string } | { readonly panel: PanelName };

export const MAIN = 'web:main';

/** Follows the fragment of the address, so that back and forward work. */
export const place = signal<Place>(read(location.hash));

export function hashOf(to: Place): string {
  if ('panel' in to) return `#/${to.panel}`;
  return to.session === MAIN ? '#/' : `#/chat/${encodeURIComponent(to.session)}`;
}

export function go(to: Place): void {
  location.hash = hashOf(to);
}

window.addEventListener('hashchange', () => (place.value = read(location.hash)));

function read(hash: string): Place {
  const [, first = '', second = ''] = hash.split('/');
  if (isPanel(first)) return { panel: first };
  if (first === 'chat' && second !== '') return { session: decoded(second) };
  return { session: MAIN };
}

function isPanel(name: string): name is PanelName {
  return Object.hasOwn(PANELS, name);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return MAIN;
  }
}

/** The name of a conversation of the page; undefined: it belongs to another channel and can only be read. */
export function chatOf(session: string): string | undefined {
  return session.startsWith('web:') ? session.slice(4) : undefined;
}
