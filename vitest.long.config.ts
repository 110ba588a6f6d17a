import { defineConfig } from 'vitest/config';

const LONG = 'test/**/*.long.test.ts';

/** A plugin imports the program that runs, so Node reads the modules itself, as in production. */
const NATIVE = 'test/e2e/plugin-reload.long.test.ts';

export default defineConfig({
  test: {
    testTimeout: 60 * 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 1,
    projects: [
      { extends: true, test: { name: 'long', include: [LONG], exclude: [NATIVE] } },
      { extends: true, test: { name: 'llama', include: ['test/**/*.llama.test.ts'] } },
      { extends: true, test: { name: 'long-native', include: [NATIVE], experimental: { viteModuleRunner: false } } },
    ],
  },
});
