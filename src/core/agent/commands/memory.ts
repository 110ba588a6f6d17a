import type { App } from '../../app.ts';
import { FORGOTTEN } from '../../memory/forget/mention.ts';
import { sourceText } from '../../memory/facts/text.ts';
import type { KnownFact, MemoryStore } from '../../memory/files/store.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { AppError } from '../../util/errors.ts';
import { oneLine, plural } from '../../util/text.ts';
import { versionLine } from '../../util/version-line.ts';
import type { ChatCommand, CommandContext } from './command.ts';

/** Where something is mentioned that is to be forgotten. */
export interface MentionsFound {
  /** How many files of each kind, by what a person calls the kind. */
  readonly files: Readonly<Record<string, number>>;
  /** Messages of the inbox and the outbox, and what else the journal has. */
  readonly rows: number;
  /** Lines that mention it. */
  readonly lines: readonly string[];
  /** Files of the person that mention it and stay as they are. */
  readonly left: readonly string[];
  /** Backups, which keep what they hold. */
  readonly backups: readonly string[];
}

const MOST_LISTED = 20;
const MOST_FACTS = 40;
const LONGEST_FACT = 300;
const MOST_SHOWN = 8;
const LONGEST_SHOWN = 120;
const USAGE =
  'Use `/memory` to list what I know with the day on which you told me, `/memory log` to list the earlier versions of MEMORY.md, `/memory restore ID` to go back to one of them, and `/memory forget WORDS` to erase for good whatever mentions these words.';

/** /memory: the facts with their sources, the earlier versions of MEMORY.md, and erasing what the owner wants forgotten, as `assistant memory` does it. */
export const memoryCommand = (app: App): ChatCommand => ({
  name: 'memory',
  description:
    'what I know, and since when; earlier versions of MEMORY.md: `/memory log`, `/memory restore ID`; erase something for good: `/memory forget WORDS`',
  role: 'owner',
  priority: false,
  interrupts: false,
  repeatable: true,
  run: async (context) => {
    const { message, args } = context;
    const { memory, config } = app;
    const { timezone } = config.agent;
    if (message.chatType !== 'direct') return 'MEMORY.md is only for our direct chat: send this command there.';
    const words = /^forget\s+(?<words>[^]+)$/iu.exec(args)?.groups?.['words'];
    if (words !== undefined) return await forgotten(words, context, app);
    const [action = '', id = '', ...rest] = args.split(/\s+/u);
    try {
      if (action === '') return factsText(await memory.facts(), timezone);
      if (action === 'log' && id === '') return listed(await memory.log(), timezone);
      if (action !== 'restore' || id === '' || rest.length > 0) return USAGE;
      const { id: restored } = await memory.restore(id);
      app.search.scheduleSync();
      return `MEMORY.md is restored to version \`${restored}\`; this applies from my next answer on. What it said before is kept: \`/memory log\` lists it.`;
    } catch (error) {
      if (error instanceof AppError && error.code === 'memory-version') {
        return 'There is no such version of MEMORY.md. `/memory log` lists those that are kept.';
      }
      throw error;
    }
  },
});

async function forgotten(words: string, context: CommandContext, { forgetting, questions }: App): Promise<string> {
  // This command was given again after a crash, and what it asked for is done.
  if (words.trim() === FORGOTTEN) return 'It is forgotten.';
  const found = await forgetting.lookFor(words);
  if (Object.keys(found.files).length === 0 && found.rows === 0) {
    return ['Nothing that I keep has all of these words in one line.', ...stays(found)].join(' ');
  }
  const { message, turnId, signal } = context;
  const answer = await questions.approve(
    { sessionKey: message.sessionKey, callId: `${turnId}.1`, turnId, signal, target: message },
    { title: 'Forget this for good', detail: mentionsText(found), reason: 'Nothing is erased without your yes.' },
  );
  if (!answer.approved) return `Nothing was erased: ${answer.reason}.`;
  const when = await forgetting.forget(words, message);
  return when === 'restarts'
    ? 'I start anew to erase it, and tell you when it is done.'
    : 'It is erased when I start the next time.';
}

/** What would be erased, for the person who is asked. */
export function mentionsText(found: MentionsFound): string {
  const kinds = Object.entries(found.files).map(([kind, count]) => `${plural(count, 'file')} of ${kind}`);
  const rows = found.rows === 0 ? [] : [`${plural(found.rows, 'message')} in the journal`];
  const shown = found.lines.slice(0, MOST_SHOWN).map((line) => `- ${oneLine(line, LONGEST_SHOWN)}`);
  const more = found.lines.length - shown.length;
  return [
    'Each line with all of these words is erased, and cannot be brought back:',
    ...shown,
    ...(more > 0 ? [`- … and ${plural(more, 'more line')}`] : []),
    `They are in ${[...kinds, ...rows].join(', ')}.`,
    ...stays(found),
  ].join('\n');
}

/** What keeps what it holds. */
function stays({ left, backups }: MentionsFound): readonly string[] {
  return [
    ...(left.length === 0 ? [] : [`Your own files stay as they are: ${left.join(', ')}.`]),
    ...(backups.length === 0 ? [] : [`Backups keep what they hold: ${backups.join(', ')}.`]),
  ];
}

/** The newest ones, each with the day on which it was told, and where. */
function factsText(facts: readonly KnownFact[], timezone: string | null): string {
  if (facts.length === 0) return `MEMORY.md is empty: nothing is remembered yet. ${USAGE}`;
  const newest = facts.toSorted((a, b) => b.record.since - a.record.since).slice(0, MOST_FACTS);
  const lines = newest.map(({ fact, record }) => `- ${oneLine(fact, LONGEST_FACT)} (${sourceText(record, timezone)})`);
  const more = facts.length - newest.length;
  return [
    'What MEMORY.md says, the newest first:',
    ...lines,
    ...(more > 0 ? [`… and ${plural(more, 'more fact')}: \`${assistantCommand('memory facts')}\``] : []),
  ].join('\n');
}

function listed(versions: Awaited<ReturnType<MemoryStore['log']>>, timezone: string | null): string {
  if (versions.length === 0) return 'There are no earlier versions of MEMORY.md.';
  const lines = versions
    .slice(0, MOST_LISTED)
    .map((version) => versionLine(version, timezone).replaceAll('~~~', '~ ~ ~'));
  const more = versions.length - lines.length;
  const rest = more === 0 ? [] : [`… and ${plural(more, 'more version')}`];
  const newest = versions[0]?.id ?? '';
  return ['~~~', ...lines, ...rest, '~~~', `To go back to one of them: \`/memory restore ${newest}\``].join('\n');
}
