import * as z from 'zod';
import { withAddress } from '../../core/api-channels.ts';

/** Blocks inside of blocks, and marks inside of marks, are read to this depth. */
const DEEPEST = 12;

const list = z.array(z.unknown());
const record = z.record(z.string(), z.unknown());

/** A rich message: its words, and its blocks that are a file. */
export interface RichContent {
  readonly text: string;
  readonly files: readonly Readonly<Record<string, unknown>>[];
}

/** Reads the blocks of a rich message (https://core.telegram.org/bots/api#richmessage). */
export function readRich(blocks: readonly unknown[]): RichContent {
  const files: Readonly<Record<string, unknown>>[] = [];
  return { text: linesOf(blocks, files, 0), files };
}

function linesOf(blocks: unknown, files: Readonly<Record<string, unknown>>[], depth: number): string {
  if (depth > DEEPEST) return '';
  const items = list.safeParse(blocks).data ?? [];
  return items
    .map((block) => blockOf(block, files, depth))
    .filter((line) => line !== '')
    .join('\n');
}

function blockOf(raw: unknown, files: Readonly<Record<string, unknown>>[], depth: number): string {
  const block = record.safeParse(raw).data ?? {};
  const { type, caption } = block;
  // A block that is a file has it under the name of its type.
  if (typeof type === 'string' && typeof block[type] === 'object')
    files.push(type === 'voice_note' ? { voice: block[type] } : { [type]: block[type] });
  const captionText = record.safeParse(caption).data?.['text'] ?? caption;
  const rows = (list.safeParse(block['cells']).data ?? []).map((row) =>
    (list.safeParse(row).data ?? [])
      .map((cell) => richText(record.safeParse(cell).data?.['text'], depth + 1))
      .join(' | '),
  );
  const items = (list.safeParse(block['items']).data ?? []).map((raw) => {
    const item = record.safeParse(raw).data ?? {};
    const box = item['has_checkbox'] === true ? `[${item['is_checked'] === true ? 'x' : ' '}] ` : '';
    const label = typeof item['label'] === 'string' ? item['label'] : '-';
    return `${label} ${box}${linesOf(item['blocks'], files, depth + 1)}`;
  });
  const buttons = (list.safeParse(block['buttons']).data ?? []).map((button) => buttonText(button, depth + 1));
  return [
    richText(block['summary'], depth + 1),
    richText(block['text'], depth + 1),
    richText(block['expression'], depth + 1),
    ...rows,
    ...items,
    ...buttons,
    linesOf(block['blocks'], files, depth + 1),
    richText(captionText, depth + 1),
    richText(block['credit'], depth + 1),
  ]
    .filter((line) => line !== '')
    .join('\n');
}

function richText(raw: unknown, depth: number): string {
  if (depth > DEEPEST) return '';
  if (typeof raw === 'string') return raw;
  const parts = list.safeParse(raw);
  if (parts.success) return parts.data.map((part) => richText(part, depth + 1)).join('');
  const data = record.safeParse(raw).data ?? {};
  const { type, url, button, alternative_text: sign, expression } = data;
  if (type === 'button') return buttonText(button, depth + 1);
  const inner = richText(data['text'] ?? sign ?? expression, depth + 1);
  return type === 'url' && typeof url === 'string' ? withAddress(inner, url) : inner;
}

function buttonText(raw: unknown, depth: number): string {
  const { text, url } = record.safeParse(raw).data ?? {};
  const label = richText(text, depth + 1);
  return typeof url === 'string' ? `[button: ${withAddress(label, url)}]` : label;
}
