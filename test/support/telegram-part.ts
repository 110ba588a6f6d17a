import { isInvisible } from '../../src/core/channels/markup/spans.ts';
import { parseTelegramHtml } from './telegram-html.ts';

/** What people see of a message on Telegram, and what of it should not have been sent. */
export interface TelegramReading {
  readonly visible: string;
  readonly problems: readonly string[];
}

const LONGEST = 4_096;
const MOST_ENTITIES = 100;

/** Beyond what the server refuses: markup around nothing, links that lead elsewhere, formatting that it would drop. */
export function readTelegram(html: string): TelegramReading {
  const parsed = parseTelegramHtml(html);
  if ('problem' in parsed) return { visible: '', problems: [parsed.problem] };
  const problems: string[] = [];
  const { visible } = parsed;
  if (visible.length > LONGEST) problems.push(`${visible.length} characters`);
  if (isInvisible(visible)) problems.push('empty');
  if (!html.isWellFormed()) problems.push('half a character');
  if (/<([a-z]+)[^>]*><\/\1>/u.test(html)) problems.push('markup around nothing');
  for (const [, address] of html.matchAll(/ href="([^"]*)"/gu)) {
    if (!/^(?:https?|tg):\/\/./iu.test(address ?? '')) problems.push(`a link elsewhere: ${address}`);
  }
  const entities = (html.match(/<[a-z]/gu)?.length ?? 0) - (html.match(/<pre><code/gu)?.length ?? 0);
  if (entities > MOST_ENTITIES) problems.push(`${entities} entities`);
  return { visible, problems };
}
