import { defineExtension } from '../../core/api.ts';
import { lazyProvider } from '../../core/api-vendors.ts';

/** Anthropic's Messages API. docs/models.md */
export default defineExtension({
  name: 'anthropic',
  vendors: [
    {
      api: 'anthropic',
      presets: {
        anthropic: {
          baseUrl: null,
          ownUrl: 'https://api.anthropic.com',
          keyVariable: 'ANTHROPIC_API_KEY',
          baseUrlVariable: 'ANTHROPIC_BASE_URL',
          keyPage: 'https://console.anthropic.com/settings/keys',
          defaultModel: 'claude-sonnet-5-5',
        },
      },
      connect: (endpoint) =>
        lazyProvider(endpoint, async () => (await import('./messages.ts')).createAnthropicProvider(endpoint)),
      listing: (baseUrl, apiKey) => ({ url: `${baseUrl}/v1/models?limit=100`, headers: headersFor(apiKey) }),
    },
  ],
});

function headersFor(apiKey: string | null): Record<string, string> {
  return apiKey === null ? {} : { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' };
}
