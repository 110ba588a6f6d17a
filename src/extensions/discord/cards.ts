import { z } from '../../core/api.ts';
import { isSaid, withAddress } from '../../core/api-channels.ts';

/** Components inside of components are read to this depth. */
const DEEPEST = 6;

const optional = z.string().nullish();
const media = z.object({ url: optional }).nullish().catch(undefined);
const embed = z.object({
  /** `rich` for what a bot made; others are previews of links in the text. */
  type: optional,
  title: optional,
  url: optional,
  description: optional,
  author: z.object({ name: optional }).nullish(),
  fields: z.array(z.object({ name: optional, value: optional })).nullish(),
  footer: z.object({ text: optional }).nullish(),
  image: media,
  thumbnail: media,
  video: media,
});
const component = z.object({
  /** Text of a text display. */
  content: optional,
  label: optional,
  /** Of a link button. */
  url: optional,
  /** Of a thumbnail and of a file. */
  media,
  file: media,
  description: optional,
  name: optional,
  /** Of a gallery of pictures. */
  items: z.array(z.unknown()).nullish(),
  accessory: z.unknown().optional(),
  components: z.array(z.unknown()).nullish(),
});

/** The words of the cards in a message: embeds that a bot made, and components that show text or open an address. */
export function wordsOfCards({
  embeds = [],
  components = [],
}: {
  readonly embeds?: readonly unknown[];
  readonly components?: readonly unknown[];
}): readonly string[] {
  const parts = [...embeds.map(wordsOfEmbed), ...components.map((one) => wordsOfComponent(one, 0))];
  return parts.filter(isSaid);
}

function wordsOfEmbed(raw: unknown): string {
  const { data } = embed.safeParse(raw);
  if (data === undefined || (data.type ?? 'rich') !== 'rich') return '';
  const { author, title, url, description, fields, footer, image, thumbnail, video } = data;
  return [
    author?.name,
    withAddress(title, url),
    description,
    ...(fields ?? []).map(({ name, value }) => [name, value].filter(isSaid).join(': ')),
    footer?.text,
    ...[image, thumbnail, video].map((one) => shownAt('', one?.url)),
  ]
    .filter(isSaid)
    .join('\n');
}

function wordsOfComponent(raw: unknown, depth: number): string {
  const { data } = component.safeParse(raw);
  if (data === undefined || depth > DEEPEST) return '';
  const { content, label, url, components, items, accessory, description, name } = data;
  const inner = [...(components ?? []), ...(items ?? []), accessory].map((one) => wordsOfComponent(one, depth + 1));
  const shown = shownAt(description ?? name, (data.media ?? data.file)?.url);
  return [content, isSaid(url) ? withAddress(label, url) : '', shown, ...inner].filter(isSaid).join('\n');
}

/** A picture, film or file of a card, which isn't fetched. */
function shownAt(what: string | null | undefined, url: string | null | undefined): string {
  return isSaid(url) ? `[shown: ${withAddress(what, url)}]` : '';
}
