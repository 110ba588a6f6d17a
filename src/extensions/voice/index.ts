import { defineExtension } from '../../core/api.ts';
import { transcriber } from './hear.ts';
import { speechState } from './servers.ts';
import { voice } from './settings.ts';

/** Voice messages are turned into text, and answers are spoken. docs/voice.md */
export default defineExtension({
  name: 'voice',
  settings: [voice],
  speech: {
    state: speechState,
    transcriber,
    speak: async (...order) => await (await import('./speak.ts')).speak(...order),
  },
  checks: async () => (await import('./checks.ts')).checks,
});
