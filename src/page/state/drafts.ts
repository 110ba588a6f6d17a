const KEY = 'assistant.draft.';

/** What was being written in a conversation when its tab was left. */
export function draftOf(chat: string): string {
  try {
    return localStorage.getItem(KEY + chat) ?? '';
  } catch {
    return '';
  }
}

/** Keeps what is being written; '' forgets it. */
export function keepDraft(chat: string, text: string): void {
  try {
    if (text === '') localStorage.removeItem(KEY + chat);
    else localStorage.setItem(KEY + chat, text.slice(0, 100_000));
  } catch {
    // A browser without a store, or a full one: the text stays in its field.
  }
}
