import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withImageFallback } from '../../src/core/providers/wrappers/image-fallback.ts';
import {
  IMAGE_BUDGET,
  imageBytes,
  imagesOf,
  withImagesRead,
  withinImageBudget,
} from '../../src/core/providers/images.ts';
import type { ImagePart, ModelMessage } from '../../src/core/providers/provider.ts';
import { assistant, endOf, errorOf, hear, HELLO, request } from './dialects.ts';
import { failing, scripted, shownText } from './scripted-provider.ts';

const MB = 1_000_000;

let made = 0;

function handle(size: number, read: () => Promise<string | undefined> = async () => 'AAAA'): ImagePart {
  made += 1;
  return { type: 'image', mediaType: 'image/png', hash: `h${made}`, size, read };
}

const photo = (size = MB): ModelMessage => ({ role: 'user', content: [{ type: 'text', text: 'look' }, handle(size)] });
const album = (count: number, size = MB): ModelMessage => ({
  role: 'user',
  content: Array.from({ length: count }, () => handle(size)),
});
const photos = (count: number, size = MB): readonly ModelMessage[] =>
  Array.from({ length: count }, () => [photo(size), assistant({ type: 'text', text: 'Nice.' })]).flat();
const imagesIn = (messages: readonly ModelMessage[]): readonly ImagePart[] => messages.flatMap(imagesOf);

describe('the images of a request', () => {
  test('are as they are while they fit', () => {
    const messages = photos(20);
    expect(withinImageBudget(messages)).toBe(messages);
  });

  test.each([
    ['60 photos', photos(60)],
    ['an album of 30', [album(30)]],
    ['large ones', photos(9, 3.6 * MB)],
  ])('are the newest that fit, markers in place of the others: %s', (_what, messages) => {
    const kept = imagesIn(withinImageBudget(messages));
    expect(kept.length).toBeLessThanOrEqual(IMAGE_BUDGET.images);
    expect(imageBytes(withinImageBudget(messages))).toBeLessThanOrEqual(IMAGE_BUDGET.bytes);
    expect(kept).toEqual(imagesIn(messages).slice(-kept.length));
    expect(kept.length).toBeGreaterThan(2);
    expect(JSON.stringify(withinImageBudget(messages))).toContain('An older image, left out');
  });

  test('of one message that is too much itself are as many as fit', () => {
    expect(imagesIn(withinImageBudget([...photos(5), album(30)]))).toHaveLength(20);
  });

  test('change what was sent before once for several new ones', () => {
    const messages = photos(100);
    let breaks = 0;
    for (let length = 1; length < messages.length; length += 1) {
      const before = withinImageBudget(messages.slice(0, length));
      const after = withinImageBudget(messages.slice(0, length + 1)).slice(0, length);
      if (JSON.stringify(before) !== JSON.stringify(after)) breaks += 1;
    }
    expect(breaks).toBeGreaterThan(5);
    expect(breaks).toBeLessThanOrEqual(10);
  });

  test('fit whatever they are, and none leaves without need', () => {
    const sizes = fc.array(fc.array(fc.integer({ min: 1, max: 4 * MB }), { maxLength: 12 }), { maxLength: 20 });
    fc.assert(
      fc.property(sizes, (all) => {
        const messages = all.map((list): ModelMessage => ({ role: 'user', content: list.map((size) => handle(size)) }));
        const fitted = withinImageBudget(messages);
        const kept = imagesIn(fitted);
        expect(kept.length).toBeLessThanOrEqual(IMAGE_BUDGET.images);
        expect(imageBytes(fitted)).toBeLessThanOrEqual(IMAGE_BUDGET.bytes);
        const last = messages.findLast((message) => imagesOf(message).length > 0);
        const first = imagesIn(messages).slice(0, IMAGE_BUDGET.images);
        if (last !== undefined) expect(kept.at(-1)).toBe(imagesOf(last).at(-1));
        if (imageBytes(messages) <= IMAGE_BUDGET.bytes && first.length === imagesIn(messages).length) {
          expect(fitted).toBe(messages);
        }
      }),
    );
  });

  test('are read when its body is built, and one that is gone by then is a marker', async () => {
    const messages: readonly ModelMessage[] = [
      { role: 'user', content: [handle(3), handle(3, async () => undefined)] },
      { role: 'tool', callId: 'c', name: 'read_file', output: 'a', isError: false, images: [handle(3)] },
    ];
    expect((await withImagesRead(request(messages))).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', mediaType: 'image/png', data: 'AAAA' },
          { type: 'text', text: '[An image that is no longer available.]' },
        ],
      },
      {
        role: 'tool',
        callId: 'c',
        name: 'read_file',
        output: 'a',
        isError: false,
        images: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }],
      },
    ]);
  });
});

describe('a request with too many bytes', () => {
  const TOO_LARGE = failing('request-too-large');

  test('is made again with fewer images until it is taken, and the next begins there', async () => {
    const inner = scripted('p', [TOO_LARGE, TOO_LARGE, 'I see.', 'And again.']);
    const provider = withImageFallback(inner);
    const heard = await hear(provider, request([...photos(16), photo()]));
    expect(shownText(heard.events)).toBe('I see.');
    const bytes = inner.requests.map(({ messages }) => imageBytes(messages));
    expect(bytes[0]).toBe(17 * MB);
    expect(bytes[1]).toBeLessThanOrEqual(8.5 * MB);
    expect(bytes[2]).toBeLessThanOrEqual(bytes[1] ?? 0 / 2);
    expect(bytes[2]).toBeGreaterThan(0);
    expect(endOf(heard).response).not.toHaveProperty('note');
    await hear(provider, request([...photos(16), photo()]));
    expect(inner.requests).toHaveLength(4);
    expect(imageBytes(inner.requests[3]?.messages ?? [])).toBe(bytes[2]);
  });

  test('says so when not even all of the newest images fit', async () => {
    const inner = scripted('p', [TOO_LARGE, 'Half of them.']);
    const heard = await hear(withImageFallback(inner), request([album(10)]));
    expect(endOf(heard).response.note).toContain('Not all images here fit into one request');
  });

  test('and without images is too long, so that what was said before is trimmed', async () => {
    const inner = scripted('p', [TOO_LARGE, TOO_LARGE]);
    expect(errorOf(await hear(withImageFallback(inner), HELLO)).kind).toBe('context-overflow');
    expect(inner.requests).toHaveLength(1);
  });
});
