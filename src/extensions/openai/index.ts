import { defineExtension } from '../../core/api.ts';
import { lazyProvider } from '../../core/api-vendors.ts';

/** OpenAI, and every server that speaks its API. docs/models.md */
export default defineExtension({
  name: 'openai',
  vendors: [
    {
      api: 'openai',
      presets: {
        openai: {
          baseUrl: null,
          ownUrl: 'https://api.openai.com/v1',
          keyVariable: 'OPENAI_API_KEY',
          baseUrlVariable: 'OPENAI_BASE_URL',
          keyPage: 'https://platform.openai.com/api-keys',
          defaultModel: 'gpt-5.5',
          isUsual: true,
          hears: 'whisper-1',
          speaks: { model: 'tts-1', prices: { 'tts-1': 15, 'tts-1-hd': 30 } },
        },
      },
      wires: ['chat', 'responses'],
      connect: (endpoint) =>
        lazyProvider(endpoint, async () =>
          endpoint.wire === 'responses'
            ? (await import('./responses.ts')).createOpenAiResponsesProvider(endpoint)
            : (await import('./chat.ts')).createOpenAiProvider(endpoint),
        ),
      window: async (asked, elsewhere) => await (await import('./window.ts')).askWindow(asked, elsewhere),
      embeddings: async (endpoint, model) => (await import('./embeddings.ts')).openEmbeddings(endpoint, model),
      transcribe: async (endpoint, model) => (await import('./speech.ts')).speechToText(endpoint, model),
      speak: async (endpoint, model) => (await import('./speech.ts')).textToSpeech(endpoint, model),
    },
  ],
});
