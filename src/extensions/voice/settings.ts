import { optionalText, section, z } from '../../core/api.ts';
import { optionalUrl, text } from '../../core/api-vendors.ts';

export const voice = section(
  'voice',
  'live',
  z
    .object({
      provider: text()
        .nullable()
        .default('auto')
        .describe(
          'The provider that turns voice messages into text; `auto`: OpenAI or Groq, the first that has a key; null: none.',
        ),
      apiKey: optionalText('Its API key; null: that of its entry in `providers`.'),
      baseUrl: optionalUrl('Address of its server; null: the usual one.'),
      model: optionalText('Its model; null: the provider’s default.'),
      speech: z
        .object({
          provider: text()
            .nullable()
            .default('auto')
            .describe('The provider that speaks answers; `auto`: OpenAI where it has a key; null: none.'),
          apiKey: optionalText('Its API key; null: that of its entry in `providers`.'),
          baseUrl: optionalUrl('Address of its server; null: the usual one.'),
          model: optionalText('Its model; null: `tts-1`.'),
          voice: text().default('alloy').describe('The voice, by the name that the server gives it.'),
          format: z
            .enum(['opus', 'mp3', 'aac', 'flac', 'wav'])
            .default('opus')
            .describe('The format of the sound; Telegram shows `opus` and `mp3` as voice messages.'),
          when: z
            .enum(['asked', 'voice'])
            .default('asked')
            .describe(
              '`asked`: answers are spoken when a person asks for that; `voice`: so is each answer to a voice message.',
            ),
          usdPerMillionCharacters: z
            .number()
            .min(0)
            .nullable()
            .default(null)
            .describe('Price, dollars per million characters; null: the known price.'),
        })
        .prefault({})
        .describe('Text to speech for answers.'),
    })
    .prefault({})
    .describe('Speech to text for voice messages, and text to speech for answers.'),
  { sensitive: true },
);
