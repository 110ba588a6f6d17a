import { defineExtension } from '../../core/api.ts';
import { lazyProvider } from '../../core/api-vendors.ts';

/** A script in place of a model, to look around without a key. docs/models.md */
export default defineExtension({
  name: 'demo',
  vendors: [
    {
      api: 'demo',
      presets: {
        demo: { baseUrl: null, keyVariable: null, defaultModel: 'scripted', listedAs: null, isScripted: true },
      },
      connect: (endpoint) =>
        lazyProvider(endpoint, async () => (await import('./demo.ts')).createDemoProvider(endpoint.name)),
    },
  ],
});
