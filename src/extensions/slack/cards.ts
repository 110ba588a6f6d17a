import * as z from 'zod';
import { isSaid, withAddress } from '../../core/api-channels.ts';
import { withNames, type NameOf } from './mentions.ts';
import type { SlackAttachment } from './post.ts';

/** Blocks inside of blocks are read to this depth. */
const DEEPEST = 8;

const record = z.record(z.string(), z.unknown());
const list = z.array(z.unknown());

/** The words of Block Kit blocks, one line for each; text in Slack's markup stays as it is. */
export function wordsOfBlocks(blocks: readonly unknown[] = []): string {
  return blocks
    .map((block) => wordsOf(block, 0))
    .filter(isSaid)
    .join('\n');
}

/** The words of an attachment (a bot's card, a shared message): title, text and fields, else its fallback. */
export function wordsOfCard(card: SlackAttachment, nameOf: NameOf): string {
  const { pretext, title, title_link: address, text, fields = [], footer, fallback } = card;
  const shared = (card.message_blocks ?? []).map(({ message }) => wordsOfBlocks(message?.blocks));
  const said = [text, ...(isSaid(text) ? [] : [...shared, wordsOfBlocks(card.blocks)])];
  const lines = [
    pretext,
    withAddress(title, address),
    ...said,
    ...fields.map((field) => [field.title, field.value].filter(isSaid).join(': ')),
    footer,
    isSaid(card.image_url) ? `[shown: ${card.image_url}]` : '',
  ].filter(isSaid);
  return withNames((lines.length === 0 ? [fallback].filter(isSaid) : lines).join('\n'), nameOf);
}

function wordsOf(node: unknown, depth: number): string {
  if (depth > DEEPEST) return '';
  if (typeof node === 'string') return node;
  const items = list.safeParse(node);
  if (items.success)
    return items.data
      .map((item) => wordsOf(item, depth + 1))
      .filter(isSaid)
      .join('\n');
  const { data } = record.safeParse(node);
  if (data === undefined) return '';
  const { type } = data;
  const word = (key: string): string => (typeof data[key] === 'string' ? data[key] : '');
  switch (type) {
    case 'link':
    case 'button':
      return withAddress(wordsOf(data['text'], depth + 1), word('url'));
    case 'image': {
      const { data: file } = record.safeParse(data['slack_file']);
      const address = word('image_url') || (typeof file?.['url'] === 'string' ? file['url'] : '');
      const name = wordsOf(data['title'], depth + 1) || word('alt_text');
      return `[shown: ${withAddress(name, address) || 'a picture'}]`;
    }
    case 'video':
      return `[shown: ${withAddress(wordsOf(data['title'], depth + 1), word('video_url'))}]`;
    case 'date':
      return word('fallback');
    case 'user':
      return `<@${word('user_id')}>`;
    case 'channel':
      return `<#${word('channel_id')}>`;
    case 'broadcast':
      return `@${word('range')}`;
    case 'emoji':
      return `:${word('name')}:`;
    case 'rich_text_section':
    case 'rich_text_preformatted':
    case 'rich_text_quote':
      return (list.safeParse(data['elements']).data ?? []).map((item) => wordsOf(item, depth + 1)).join('');
    default: {
      const keys = ['title', 'text', 'fields', 'elements', 'rows', 'accessory', 'alt_text'];
      return keys
        .map((key) => wordsOf(data[key], depth + 1))
        .filter(isSaid)
        .join('\n');
    }
  }
}
