import * as z from 'zod';
import { optionalCount, optionalText, optionalUrl, text, textMap } from './values.ts';

const provider = z
  .object({
    kind: optionalText('`openai`, `anthropic` or a preset; null: the entry’s own name.'),
    baseUrl: optionalUrl('Another server that speaks the same language, e.g. `http://127.0.0.1:11434/v1`.'),
    apiKey: z
      .union([text(), z.array(text()).min(1)], { error: 'expected a key, or a list of keys' })
      .nullable()
      .default(null)
      .describe('The key, or several that take turns; null: the server asks for none.'),
    wire: z
      .enum(['chat', 'responses'])
      .default('chat')
      .describe('Which of OpenAI’s two APIs is spoken: Chat Completions or Responses.'),
    headers: textMap('Headers added to each request.'),
    extraBody: z.record(z.string(), z.unknown()).default({}).describe('Fields merged over each request’s body.'),
    timeouts: z
      .object({
        firstByteSeconds: optionalCount(
          'How long the first byte of an answer may take; null: 60, on this machine and in its network 300.',
        ),
        idleSeconds: optionalCount('How long an answer may stand still; null: 60, or 300 likewise.'),
      })
      .prefault({})
      .describe('Deadlines of a model call.'),
  })
  .describe('One way to reach models.');

export const providersSchema = z
  .record(z.string(), provider)
  .default({})
  .describe(
    'Servers with models, by name. A provider’s usual variable, e.g. `ANTHROPIC_API_KEY`, enables it without an entry.',
  );

const usd = (doc: string) => z.number().min(0).default(0).describe(`${doc}, dollars per million tokens.`);

const model = z
  .object({
    contextWindow: optionalCount('Tokens that it can read.'),
    maxOutputTokens: optionalCount('Most tokens in one answer.'),
    price: z
      .object({
        input: usd('Input'),
        output: usd('Output'),
        cacheRead: usd('Input read from the cache'),
        cacheWrite: usd('Input written to the cache'),
      })
      .nullable()
      .default(null)
      .describe('What it costs; null: what is known.'),
  })
  .describe('Facts about one model.');

export const modelsSchema = z
  .record(z.string(), model)
  .default({})
  .describe('Facts about models by `provider/model`, where the known ones are missing or wrong.');

export const voiceSchema = z
  .object({
    provider: optionalText('The provider that turns speech into text; null: none.'),
    apiKey: optionalText('Its key.'),
    baseUrl: optionalUrl('Its address, when it is not the usual one.'),
    model: optionalText('Its model; null: its default.'),
  })
  .prefault({})
  .describe('Speech to text for voice messages.');
