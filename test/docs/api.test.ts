import { execFile } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { startApi } from '../support/api-world.ts';
import { testWith } from '../support/test-with.ts';
import { codeLines, jsonBlocks, PAGES } from './documents.ts';

const run = promisify(execFile);

/** What the answer to a line holds; the first that fits. */
const WANTED: readonly (readonly [line: RegExp, answer: RegExp])[] = [
  [/\/health/u, /^\{"status":"ok",/u],
  [/\/ready/u, /^\{"ready":true,/u],
  [/\/metrics/u, /^assistant_turns_running 0$/mu],
  [/\/v1\/models/u, /"assistant-light"/u],
  // Refused on purpose: the page says that a setting is needed.
  [/\/v1\/embeddings/u, /embeddings_not_configured/u],
  [/\$ID/u, /"status":"(?:queued|in_progress|completed)"/u],
  [/\/hooks\//u, /^\{"accepted":"accepted"\}$/u],
  [/-sN /u, /"content":"Hello"[^]*"usage":\{[^]*\[DONE\]$/u],
  [/\/v1\//u, /Hello there\./u],
];

for (const path of ['docs/api.md', 'docs/webhooks.md', 'docs/monitoring.md']) {
  testWith('curl', 'openssl')(
    `each curl line of ${path} is answered as the page says`,
    { timeout: 120_000 },
    async () => {
      const text = PAGES.find((page) => page.path === path)?.text ?? '';
      const blocks = jsonBlocks(text);
      // Such a block is a configuration, not lines of a shell.
      const shell = text.replaceAll(/^```(?:json|yaml)\n[\s\S]*?^```$/gmu, '');
      const lines = codeLines(shell).filter((line) => line !== '');
      expect(lines.filter((line) => line.startsWith('curl')).length).toBeGreaterThan(2);
      const secret = 'the-secret-of-the-build-hook';
      const config = Object.assign(
        {},
        ...blocks.map((block) => JSON.parse(block.replaceAll('${BUILD_HOOK_SECRET}', secret))),
      );
      await using api = await startApi({ config });
      api.world.model.setHandler(() => 'Hello there.');
      const person = join(api.world.home, '..', 'reader');
      await mkdir(person);
      await symlink(api.world.home, join(person, '.assistant'));
      const base = await api.base();
      // One shell, in which the lines follow each other: each answer is a block of its own.
      const script = lines.map(
        (line) => `${line.replaceAll('http://127.0.0.1:18790', base)}\nprintf '\\n%s\\n' '#####'`,
      );
      const env = { PATH: process.env['PATH'] ?? '', HOME: person, BUILD_HOOK_SECRET: secret };
      const { stdout, stderr } = await run('sh', ['-euc', script.join('\n')], { env, timeout: 100_000 });
      expect(stderr).toBe('');
      const answers = stdout.split('#####').map((answer) => answer.trim());
      for (const [n, line] of lines.entries()) {
        const wanted = line.startsWith('curl') ? WANTED.find(([fits]) => fits.test(line)) : undefined;
        if (wanted !== undefined) expect([line, answers[n]]).toEqual([line, expect.stringMatching(wanted[1])]);
      }
    },
  );
}
