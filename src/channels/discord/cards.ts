import * as z from 'zod';
import { isSaid, withAddress } from '../inbound/card-text.ts';

/** Components inside of components are read to this depth. */
const DEEPEST = 6;

const optional = z.string().nullish();
const embed = z.object({
  /** `rich` for what a bot made; others are previews of links in the text. */
  type: optional,
  title: optional,
  url: optional,
  description: optional,
  author: z.object({ name: optional }).nullish(),
  fields: z.array(z.object({ name: optional, value: optional })).nullish(),
  footer: z.object({ text: optional }).nullish(),
});
const component = z.object({
  /** Text of a text display. */
  content: optional,
  label: optional,
  /** Of a link button. */
  url: optional,
  accessory: z.unknown().optional(),
  components: z.array(z.unknown()).nullish(),
});

/** The words of the cards in a message: embeds that a bot made, and components that show text or open an address. */
export function wordsOfCards({
  embeds = [],
  components = [],
}: {
  readonly embeds?: readonly unknown[] | undefined;
  readonly components?: readonly unknown[] | undefined;
}): readonly string[] {
  const parts = [...embeds.map(wordsOfEmbed), ...components.map((one) => wordsOfComponent(one, 0))];
  return parts.filter(isSaid);
}

function wordsOfEmbed(raw: unknown): string {
  const { data } = embed.safeParse(raw);
  if (data === undefined || (data.type ?? 'rich') !== 'rich') return '';
  const { author, title, url, description, fields, footer } = data;
  return [
    author?.name,
    withAddress(title, url),
    description,
    ...(fields ?? []).map(({ name, value }) => [name, value].filter(isSaid).join(': ')),
    footer?.text,
  ]
    .filter(isSaid)
    .join('\n');
}

function wordsOfComponent(raw: unknown, depth: number): string {
  const { data } = component.safeParse(raw);
  if (data === undefined || depth > DEEPEST) return '';
  const { content, label, url, components, accessory } = data;
  const inner = [...(components ?? []), accessory].map((one) => wordsOfComponent(one, depth + 1));
  return [content, isSaid(url) ? withAddress(label, url) : '', ...inner].filter(isSaid).join('\n');
}
