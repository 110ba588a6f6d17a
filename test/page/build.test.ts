import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { buildPage } from '../../page.config.ts';

describe('the files of the page', () => {
  const built = buildPage();

  test('are 100 kB at most when they are packed, all panels included', async () => {
    const { files } = await built;
    const size = files.reduce((sum, { body }) => sum + gzipSync(body).length, 0);
    expect(size).toBeLessThanOrEqual(100_000);
  });

  test('name each other by their content, so that an update is never mixed with what a browser kept', async () => {
    const { files } = await built;
    const html = Buffer.from(files.find(({ path }) => path === 'index.html')?.body ?? []).toString();
    const named = [...html.matchAll(/(?:src|href)="\/(?<path>[^"]+)"/gu)].map((match) => match.groups?.['path']);
    expect(named.filter((path) => !files.some((file) => file.path === path))).toEqual([]);
    expect(named.filter((path) => /^assets\/(?:main|page)-[A-Z0-9]{8}\.(?:js|css)$/u.test(path ?? ''))).toHaveLength(2);
  });

  test('ask nothing of any other server', async () => {
    const { files } = await built;
    const css = files.filter(({ path }) => path.endsWith('.css')).map(({ body }) => Buffer.from(body).toString());
    expect(css.join('').match(/url\(|@import/gu)).toBeNull();
    const html = Buffer.from(files.find(({ path }) => path === 'index.html')?.body ?? []).toString();
    expect(html).not.toMatch(/https?:/u);
    expect(html).not.toMatch(/<script(?![^>]*src=)|<style|style=|\son\w+=/u);
  });

  test('hold no code of Node and no schema of the gateway', async () => {
    const { metafile } = await built;
    const inputs = Object.keys(metafile.inputs);
    const outside = inputs.filter(
      (input) =>
        !input.startsWith('src/page/') &&
        !/^src\/extensions\/(?:panels\.ts$|[^/]+\/page\/)/u.test(input) &&
        !['src/core/bus/live-turn.ts', 'src/core/util/line-diff.ts'].includes(input) &&
        !/^node_modules\/(?:preact|@preact|markdown-it|linkify-it|mdurl|uc\.micro|entities|punycode|fflate)/u.test(
          input,
        ),
    );
    expect(outside).toEqual([]);
  });
});
