import { defineExtension } from '../../core/api.ts';
import { lazyProvider } from '../../core/api-vendors.ts';
import { USUAL_WINDOW } from './usual-window.ts';

/** Models that Ollama runs, through its own API. docs/models.md */
export default defineExtension({
  name: 'ollama',
  vendors: [
    {
      api: 'ollama',
      presets: {
        ollama: {
          baseUrl: 'http://127.0.0.1:11434',
          keyVariable: null,
          defaultModel: null,
          listedAs: null,
          title: 'Ollama',
          addressIn: ollamaHost,
          before: 'lmstudio',
          hasRoot: true,
        },
      },
      connect: (endpoint, windowOf) =>
        lazyProvider(endpoint, async () => (await import('./chat.ts')).createOllamaProvider(endpoint, windowOf)),
      window: async (asked) => await (await import('./window.ts')).askWindow(asked),
      loadedWindow: async (asked) => await (await import('./window.ts')).loadedWindow(asked),
      usualWindow: USUAL_WINDOW,
      hints: {
        start: 'ollama serve',
        pull: (model) => `ollama pull ${model}`,
        lessMemory: (model) => `Set models."${model}".contextWindow to fewer tokens`,
      },
      setUp: async (world, config, place) => await (await import('./setup.ts')).windowSettings(world, config, place),
      isNotReplayed: true,
    },
  ],
});

/** Where `OLLAMA_HOST` says that it listens, as an address that can be called. */
function ollamaHost({ OLLAMA_HOST: host }: Readonly<Record<string, string | undefined>>): string | null {
  const url = host === undefined ? null : URL.parse(host.includes('://') ? host : `http://${host}`);
  if (url === null) return null;
  // What a server listens on is not what is called.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.port === '' && url.protocol === 'http:') url.port = '11434';
  return url.origin;
}
