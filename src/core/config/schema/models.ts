import * as z from 'zod';
import { optionalCount, optionalText, optionalUrl, text, textMap } from './values.ts';

const provider = z
  .object({
    kind: optionalText('`openai`, `anthropic` or a preset; null: the entry’s own name.'),
    baseUrl: optionalUrl('Address of another server with the same API, e.g. `http://127.0.0.1:8080/v1`.'),
    apiKey: z
      .union([text(), z.array(text()).min(1)], { error: 'expected a key, or a list of keys' })
      .nullable()
      .default(null)
      .describe('The API key, or several that are used in turn; null: the server needs none.'),
    wire: z
      .enum(['chat', 'responses'])
      .default('chat')
      .describe('Which of OpenAI’s two APIs is used: `chat` (Chat Completions) or `responses`.'),
    headers: textMap('Headers added to each request.'),
    extraBody: z
      .record(z.string(), z.unknown())
      .default({})
      .describe('Fields that are added to the body of each request, or replace those in it.'),
    timeouts: z
      .object({
        firstByteSeconds: optionalCount(
          'Seconds to wait for the first byte of an answer. Null: 60, or 300 for servers on this machine or the local network.',
        ),
        idleSeconds: optionalCount(
          'Seconds without a new byte after which an answer counts as broken. Null: as for `firstByteSeconds`.',
        ),
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
    contextWindow: optionalCount('Context window in tokens.'),
    maxOutputTokens: optionalCount('Maximum length of one answer in tokens.'),
    price: z
      .object({
        input: usd('Input'),
        output: usd('Output'),
        cacheRead: usd('Input read from the cache'),
        cacheWrite: usd('Input written to the cache'),
      })
      .nullable()
      .default(null)
      .describe('Price of the model; null: the known price.'),
  })
  .describe('Facts about one model.');

export const modelsSchema = z
  .record(z.string(), model)
  .default({})
  .describe('Facts about models by `provider/model`, where the known ones are missing or wrong.');
