import type { TapeEntry } from '../../session/entry.ts';
import { turnOf } from '../../session/turns.ts';
import { oneLine } from '../../util/text.ts';
import { receiptOf, unfinished, type ReceiptItem } from './receipt.ts';

/** Most things that the line names, and characters of each. */
const MOST_NAMED = 3;
const LONGEST_NAME = 80;

/** How a thing is named, `%` being its target, and how where its target must not be seen. */
const KINDS: Readonly<Record<string, readonly [named: string, unnamed: string]>> = {
  file: ['writing %', 'writing a file'],
  command: ['%', 'a command'],
  process: ['process %', 'a command in the background'],
  message: ['the message to %', 'a message'],
  job: ['the change to the job %', 'a change to a scheduled job'],
  memory: ['the change of the memory (%)', 'a change of the memory'],
  task: ['the subagent’s task %', 'a subagent’s task'],
};

/**
 * The line below an answer that names what the turn did not get done; '' when there is nothing. It comes from the results of
 * the calls alone: no text of the model is read. `named`: whether paths, commands and chats may be seen where it is sent.
 */
export function unfinishedLine(entries: readonly TapeEntry[], { named }: { readonly named: boolean }): string {
  const items = unfinished(receiptOf(turnOf(entries)));
  const shown = items.slice(0, MOST_NAMED);
  const sentence = (head: string, of: readonly ReceiptItem[], become: (item: ReceiptItem) => string): string => {
    const words = of.map((item) => `${wordsOf(item, named)} ${become(item)}`.trim());
    return words.length === 0 ? '' : `${head}: ${[...new Set(words)].join('; ')}.`;
  };
  const unknown = shown.filter(({ outcome }) => outcome === 'unknown');
  const failed = shown.filter(({ kind, outcome }) => kind === 'command' && outcome === 'failed');
  const rest = shown.filter((item) => !failed.includes(item) && !unknown.includes(item));
  return [
    sentence('Not done', rest, ({ outcome }) => (outcome === 'refused' ? 'was refused' : 'failed')),
    sentence('Failed', failed, ({ exitCode }) => (exitCode === null ? '' : `ended with exit code ${exitCode}`)),
    sentence('Cut off, so it may or may not be done', unknown, () => ''),
    items.length > shown.length ? `And ${items.length - shown.length} more.` : '',
  ]
    .filter((text) => text !== '')
    .join(' ');
}

function wordsOf({ kind, target, tool }: ReceiptItem, named: boolean): string {
  const known = KINDS[kind];
  if (known === undefined || target === null) return code(tool);
  return named ? known[0].replace('%', () => code(target)) : known[1];
}

/** As code, because it may contain Markdown. */
function code(text: string): string {
  return `\`${oneLine(text, LONGEST_NAME).replaceAll('`', '´')}\``;
}
