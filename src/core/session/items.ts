import { type MessageEntry, saidIn, type TapeEntry } from './entry.ts';
import { closingText } from './history.ts';

/** One thing that an entry of a tape means to people; an entry may be several. */
export interface SessionItem {
  /**
   * `call`: a tool was called, `text` has its arguments as JSON. `result`: what it returned. `mark`: the conversation was
   * started anew or summarised, or a turn did not end with an answer.
   */
  readonly kind: 'user' | 'assistant' | 'reasoning' | 'call' | 'result' | 'mark';
  readonly text: string;
  /** Of the tool. */
  readonly name?: string;
  /** Joins a call and its result. */
  readonly callId?: string;
  readonly isError?: true;
  /** Hashes of images. */
  readonly images?: readonly string[];
  /** Ids of the inbound messages that a `user` item has. */
  readonly sources?: readonly string[];
}

/** What an entry means to people, in order, with whole texts. */
export function itemsOf(entry: TapeEntry): readonly SessionItem[] {
  if (entry.kind === 'message') return messageItems(entry);
  const text = markOf(entry);
  return text === null ? [] : [{ kind: 'mark', text }];
}

function markOf(entry: TapeEntry): string | null {
  switch (entry.kind) {
    case 'turn-end':
      return closingText({ ...entry, partial: '' }) ?? entry.unfinished ?? null;
    case 'reset':
      return 'A fresh start: what came before is no longer part of the conversation.';
    case 'anchor':
      return `What came before was summarised:\n${entry.summary}`;
    default:
      return null;
  }
}

function messageItems(entry: MessageEntry): readonly SessionItem[] {
  switch (entry.role) {
    case 'tool': {
      const { name, output, isError, callId, images = [] } = entry;
      const item: SessionItem = { kind: 'result', name, callId, text: output };
      return [{ ...item, ...(isError ? { isError: true as const } : {}), ...shown(images) }];
    }
    case 'user': {
      // Notes of the program to the model stand between messages of people.
      if (entry.sources.length === 0) return [];
      const images = entry.content.flatMap((part) => (part.type === 'image' ? [part] : []));
      return [{ kind: 'user', text: saidIn(entry), sources: entry.sources, ...shown(images) }];
    }
    case 'assistant':
      return entry.content.flatMap((part): readonly SessionItem[] => {
        switch (part.type) {
          case 'text':
            return part.text.trim() === '' ? [] : [{ kind: 'assistant', text: part.text }];
          case 'reasoning':
            return part.text.trim() === '' ? [] : [{ kind: 'reasoning', text: part.text }];
          case 'tool-call':
            return [{ kind: 'call', name: part.name, callId: part.callId, text: part.arguments }];
        }
      });
  }
}

function shown(images: readonly { readonly hash: string }[]): Pick<SessionItem, 'images'> {
  return images.length === 0 ? {} : { images: images.map(({ hash }) => hash) };
}
