import type { UndoItem, UndoRecord } from '../../storage/undo-log.ts';
import { oneLine, plural } from '../../util/text.ts';

/** What is told of a record: what is going to happen, or what has happened. */
export type Told = 'before' | 'after';

type Facts = Pick<UndoRecord, 'exchanges' | 'items' | 'byCommands' | 'sent' | 'lasting'>;

/** Most things that each part of a text lists. */
const MOST_NAMED = 20;
const LONGEST_NAME = 200;

/** What an undo does or did, in Markdown; `before` it is plain text for a block of code. */
export function undoText(facts: Facts, told: Told): string {
  const { items, byCommands, sent, lasting } = facts;
  const name = told === 'before' ? plain : code;
  const of = (kind: UndoItem['kind']): readonly string[] =>
    items.filter((item) => item.kind === kind).map((item) => `- ${name(item.name)}: ${outcomeText(item, told)}`);
  const named = (names: readonly string[]): readonly string[] => names.map((one) => `- ${name(one)}`);
  return [
    ...headOf(facts, told),
    ...list('Files:', of('file')),
    ...list('Memory:', of('memory')),
    ...list('Scheduled jobs:', of('job')),
    ...list('Changed while commands ran, and left as they are:', named(byCommands)),
    ...list('Messages that I sent stay. If one is wrong, ask me to send a correction:', named(sent)),
    ...list('This cannot be undone:', named(lasting)),
  ].join('\n');
}

function headOf({ exchanges }: Facts, told: Told): readonly string[] {
  const [only] = exchanges;
  const mine = told === 'before' ? 'leave this conversation' : 'are no longer part of this conversation';
  if (exchanges.length === 1 && only !== undefined) {
    const words = only.said.length === 0 ? 'This turn' : `${quoted(only.said)} and my answer`;
    const verb = only.said.length === 0 ? mine.replace(/^leave/u, 'leaves').replace(/^are/u, 'is') : mine;
    return [`${told === 'before' ? '' : 'Undone: '}${words} ${verb}.`];
  }
  const count = plural(exchanges.length, 'exchange');
  return [
    `${told === 'before' ? '' : 'Undone: '}${count} ${mine}:`,
    ...exchanges.map(({ said }) => `- ${quoted(said)}`),
  ];
}

function quoted([first = '', ...more]: readonly string[]): string {
  return `“${oneLine(first, 80)}”${more.length === 0 ? '' : ` (and ${plural(more.length, 'more message')})`}`;
}

function outcomeText({ kind, outcome, reason }: UndoItem, told: Told): string {
  const will = told === 'before' ? 'will be ' : '';
  switch (outcome) {
    case 'restored':
      return kind === 'memory' ? `${told === 'before' ? 'will be there' : 'is there'} again` : `${will}restored`;
    case 'removed':
      return `${will}removed, because it ${told === 'before' ? 'is' : 'was'} new`;
    case 'as-before':
      return `${told === 'before' ? 'will be' : 'is'} as it was before the command`;
    case 'partly':
      return `${will}partly restored: ${reason}`;
    case 'left':
      return `${told === 'before' ? 'stays' : 'not changed'}: ${reason}`;
  }
}

/** Shows a name or command as code, because it may contain Markdown. */
function code(text: string): string {
  return `\`${plain(text).replaceAll('`', '´')}\``;
}

function plain(text: string): string {
  return oneLine(text, LONGEST_NAME);
}

function list(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  const rest = lines.length - MOST_NAMED;
  return [title, ...lines.slice(0, MOST_NAMED), ...(rest > 0 ? [`- and ${rest} more`] : [])];
}
