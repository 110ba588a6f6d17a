import { describe, expect, test } from 'vitest';
import { classifyError } from '../../src/core/providers/errors.ts';
import { withImageFallback } from '../../src/core/providers/wrappers/image-fallback.ts';
import type { ModelMessage } from '../../src/core/providers/provider.ts';
import { DIALECTS, assistant, call, connect, endOf, errorOf, hear, HELLO, request, user } from './dialects.ts';
import { failing, scripted, shownText } from './scripted-provider.ts';

const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
const picture: ModelMessage = { role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] };
const LOOK = request([picture]);
const REFUSES = failing('bad-request', { about: 'images' });

describe('images that a model does not take', () => {
  test('are left out in one more try, with a note', async () => {
    const inner = scripted('p', [REFUSES, 'No idea.']);
    const heard = await hear(withImageFallback(inner), LOOK);
    expect(shownText(heard.events)).toBe('No idea.');
    expect(endOf(heard).response.note).toContain('could not read the images');
    expect(JSON.stringify(inner.requests[1])).not.toContain(image.data);
    expect(JSON.stringify(inner.requests[1])).toContain('an image was left out');
  });

  test('are left out at once from then on, for that model only, and old ones without a word', async () => {
    const inner = scripted('p', [REFUSES, 'ok']);
    const provider = withImageFallback(inner);
    await hear(provider, LOOK);
    const later = await hear(provider, request([picture, assistant({ type: 'text', text: 'Hm.' }), user('Then?')]));
    expect(endOf(later).response).not.toHaveProperty('note');
    expect(inner.requests).toHaveLength(3);
    await hear(provider, { ...LOOK, model: 'other' });
    expect(JSON.stringify(inner.requests[3])).toContain(image.data);
  });

  test('of a tool leave a word in its output', async () => {
    const inner = scripted('p', [REFUSES, 'ok']);
    await hear(
      withImageFallback(inner),
      request([
        user('go'),
        assistant(call('t.1', 'a')),
        { role: 'tool', callId: 't.1', name: 'read_file', output: 'a.png', isError: false, images: [image] },
      ]),
    );
    expect(inner.requests[1]?.messages[2]).toEqual({
      role: 'tool',
      callId: 't.1',
      name: 'read_file',
      output: 'a.png\n(an image was left out: this model cannot read images)',
      isError: false,
    });
  });

  test('are not left out because of one that it could not read: the turn leaves out that one', async () => {
    const inner = scripted('p', [failing('bad-request', { about: 'image' }), 'ok']);
    const provider = withImageFallback(inner);
    expect(errorOf(await hear(provider, LOOK)).about).toBe('image');
    await hear(provider, LOOK);
    expect(JSON.stringify(inner.requests[1])).toContain(image.data);
  });
});

describe('an error', () => {
  test('of a request without images is given as it is', async () => {
    const inner = scripted('p', [REFUSES, 'ok']);
    expect(errorOf(await hear(withImageFallback(inner), HELLO)).about).toBe('images');
    expect(inner.requests).toHaveLength(1);
  });

  test('that is not about images is given as it is', async () => {
    const inner = scripted('p', [failing('bad-request'), 'ok']);
    expect(errorOf(await hear(withImageFallback(inner), LOOK)).kind).toBe('bad-request');
  });

  const context = {
    provider: 'p',
    host: null,
    model: 'm',
    toolChoice: 'auto',
    keyVariable: null,
    secrets: [],
    now: 0,
  } as const;

  test.each([
    [404, 'No endpoints found that support image input', 'images'],
    [400, 'This model does not support image inputs.', 'images'],
    [400, 'Invalid content type. image_url is only supported by certain models.', 'image'],
    [400, 'Failed to deserialize: unknown variant `image_url`, expected `text`', 'images'],
    [500, 'image input is not supported - hint: you may need to provide the mmproj', 'images'],
    [400, 'llama3 is not a multimodal model', 'images'],
    [400, 'At most 0 image(s) may be provided in one prompt.', 'images'],
    [400, "'messages.1.content' must be a string", 'images'],
    [400, 'Could not process image', 'image'],
    [400, 'image exceeds 5 MB maximum', 'image'],
    [400, 'max_tokens is too large', undefined],
    [429, 'Too many images per minute', undefined],
    [503, 'The image of this service is being pulled', undefined],
  ])('%d "%s" is about %s', (status, text, about) => {
    const thrown = Object.assign(new Error(text), { status, error: { message: text } });
    const error = classifyError(thrown, context);
    expect(error.about).toBe(about);
    if (about !== undefined) expect(error).toMatchObject({ kind: 'bad-request', retryable: false });
  });
});

test.each(DIALECTS)('$name: a refusal of images is followed by an answer without them', async (dialect) => {
  await using server = await dialect.start();
  server.reply({ error: { status: 400, message: 'This model does not support image inputs.' } }, 'No idea.');
  const heard = await hear(withImageFallback(connect(dialect, server)), LOOK);
  expect(endOf(heard).response.note).toBeDefined();
  expect(server.requests.map(({ body }) => JSON.stringify(body).includes(image.data))).toEqual([true, false]);
});
