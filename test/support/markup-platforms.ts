import MarkdownIt from 'markdown-it';
import { isDiscordLink } from '../../src/extensions/discord/text.ts';
import { commonMarkLiteral, commonMarkParts } from '../../src/core/channels/markup/commonmark.ts';
import { discordMarkup } from '../../src/extensions/discord/markup.ts';
import type { LinkRule } from '../../src/core/channels/markup/inline.ts';
import { toSpans } from '../../src/core/channels/markup/markdown.ts';
import type { Markup } from '../../src/core/channels/markup/markup.ts';
import { isSlackLink } from '../../src/extensions/slack/markup-text.ts';
import { slackMarkup } from '../../src/extensions/slack/markup.ts';
import { isInvisible, spanText } from '../../src/core/channels/markup/spans.ts';
import { isTelegramLink, telegramMarkup } from '../../src/extensions/telegram/markup.ts';
import { readDiscord } from './discord-markdown.ts';
import { readSlack } from './slack-markdown.ts';
import { readTelegram } from './telegram-part.ts';
import { inkOf, isSubsequence, visibleLines } from './visible-lines.ts';

/** A platform's markup together with a reader that is as strict as the platform, and stricter where it forgives. */
interface Platform {
  readonly name: string;
  readonly markup: Markup;
  readonly read: (part: string) => { readonly visible: string; readonly problems: readonly string[] };
  readonly canLink: LinkRule;
}

const isWebLink = (href: string): boolean => /^https?:\/\/./iu.test(href);

export const platforms: readonly Platform[] = [
  { name: 'Telegram', markup: telegramMarkup, read: readTelegram, canLink: isTelegramLink },
  { name: 'Discord', markup: discordMarkup, read: readDiscord, canLink: isDiscordLink },
  {
    name: 'CommonMark',
    markup: {
      ...discordMarkup,
      render: (markdown) => commonMarkParts(markdown, 2_000),
      literal: (text) => commonMarkLiteral(text, 2_000),
    },
    read: (part) => ({
      visible: spanText(toSpans(part, isWebLink)),
      problems: part.length > 2_000 ? ['too long'] : [],
    }),
    canLink: isWebLink,
  },
  { name: 'Slack', markup: slackMarkup, read: readSlack, canLink: isSlackLink },
];

export function platform(name: string): Platform {
  const found = platforms.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no platform ${name}`);
  return found;
}

/**
 * Renders a document, reads each part by itself, and says what is wrong: a part that is not legal, or visible text that
 * is not the document's. What all parts show is what the document shows: line by line where there is one part, white space
 * aside where there are more.
 */
export function faultsOf(markdown: string, { markup, read, canLink }: Platform): readonly string[] {
  const parts = markup.render(markdown);
  const readings = parts.map((part) => read(part));
  const faults = readings.flatMap(({ problems }) => problems);
  const document = spanText(toSpans(markdown, canLink));
  if (parts.length === 0) return isInvisible(markdown.toWellFormed()) ? faults : [...faults, 'nothing to send'];
  const shown = readings.map(({ visible }) => visible).join('\n');
  const same =
    parts.length === 1
      ? visibleLines(shown).join('\n') === visibleLines(document).join('\n')
      : inkOf(shown) === inkOf(document);
  return same ? faults : [...faults, `shows ${JSON.stringify(shown)} for ${JSON.stringify(document)}`];
}

const reference = new MarkdownIt();

/** Whether all that another renderer shows of a document is to be seen in what a platform shows. */
export function showsAll(markdown: string, { markup, read }: Platform): boolean {
  const html = reference
    .render(markdown.toWellFormed())
    .replace(/<img [^>]*alt="([^"]*)"[^>]*>/gu, '$1')
    .replace(/<[^>]*>/gu, '')
    .replace(/&(lt|gt|amp|quot);/gu, (_, name: string) => ({ lt: '<', gt: '>', amp: '&', quot: '"' })[name] ?? '');
  const shown = markup.render(markdown).map((part) => read(part).visible);
  return isSubsequence(inkOf(html), inkOf(shown.join('\n')));
}
