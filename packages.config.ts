import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { OnLoadResult, Plugin } from 'esbuild';

/** Bundles other text in the place of the files of a package that `filter` finds in their paths. */
function replacing(name: string, filter: RegExp, text: string | ((path: string) => Promise<string>)): Plugin {
  return {
    name,
    setup: (building) =>
      building.onLoad({ filter }, async ({ path }): Promise<OnLoadResult> => {
        const contents = typeof text === 'string' ? text : await text(path);
        return { contents, resolveDir: dirname(path) };
      }),
  };
}

/**
 * The classes of a file without what they do. An SDK makes an object of each of its API's parts; ours posts requests
 * itself, so that the others would only take room. What the file passes on of its neighbours stays.
 */
async function emptyClasses(path: string): Promise<string> {
  const text = await readFile(path, 'utf8');
  const names = [...text.matchAll(/^export class (?<name>\w+)/gmu)].map(
    ({ groups }) => `export class ${groups?.['name']} {}`,
  );
  const passedOn = text.match(/^export (?:\*|\{[^}]*\}) from "(?!.*\/lib\/).*$/gmu) ?? [];
  return [...names, ...passedOn].join('\n');
}

/** Of a list of prices what calculates no price, and which people read. */
const UNREAD = new Set(['description', 'extractors', 'price_comments', 'prices_checked', 'pricing_urls']);

/** Where the list stands in its package's only file. */
const LIST = { begins: 'const E = [', ends: '\n], J = {' };

/**
 * The list of prices as a file of JSON beside the code that reads it, with the models of each provider as a text that is
 * read when a model of it is asked for. As code, all of it would stay in memory twice.
 */
function pricesAsJson(): Plugin {
  const parts = async (path: string): Promise<{ readonly json: string; readonly rest: string }> => {
    const text = await readFile(path, 'utf8');
    const end = text.indexOf(LIST.ends) + 2;
    if (!text.startsWith(LIST.begins) || end < LIST.begins.length)
      throw new Error(`${path}: the list is not where it was`);
    // oxlint-disable-next-line no-implied-eval
    const list = new Function(`return ${text.slice(LIST.begins.length - 1, end)}`)() as { models: unknown }[];
    const read = (value: unknown): string =>
      JSON.stringify(value, (key, one: unknown) => (UNREAD.has(key) ? undefined : one));
    return { json: read(list.map((one) => ({ ...one, models: read(one.models) }))), rest: text.slice(end) };
  };
  return {
    name: 'prices-as-json',
    setup: (building) => {
      // oxlint-disable-next-line require-unicode-regexp
      building.onLoad({ filter: /@pydantic\/genai-prices\/dist\/index\.js$/ }, async ({ path }) => {
        const contents = `import { readFileSync } from 'node:fs';
import file from ${JSON.stringify(join(dirname(path), 'list.json'))};
const E = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')).map((one) => {
  let { models } = one;
  const get = () => (models = typeof models === 'string' ? JSON.parse(models) : models);
  return Object.defineProperty(one, 'models', { get });
})${(await parts(path)).rest}`;
        return { contents, resolveDir: dirname(path) };
      });
      // oxlint-disable-next-line require-unicode-regexp
      building.onResolve({ filter: /genai-prices\/dist\/list\.json$/ }, ({ path }) => ({ path }));
      // oxlint-disable-next-line require-unicode-regexp
      building.onLoad({ filter: /genai-prices\/dist\/list\.json$/ }, async ({ path }) => ({
        contents: (await parts(join(dirname(path), 'index.js'))).json,
        loader: 'file',
      }));
    },
  };
}

/** What the bundle has of packages in the place of their own files. Filters are expressions of Go, which have no flags. */
export const REPLACED: readonly Plugin[] = [
  // Of zod's messages in fifty languages the English ones: the others are half of what is loaded of it.
  // oxlint-disable-next-line require-unicode-regexp
  replacing('one-locale', /zod\/v4\/locales\/index\.js$/, "export { default as en } from './en.js';"),
  // Bolt has a receiver of ours; its own bring express, OAuth and parsers of bodies with them.
  replacing(
    'one-receiver',
    // oxlint-disable-next-line require-unicode-regexp
    /@slack\/bolt\/dist\/receivers\/(AwsLambdaReceiver|ExpressReceiver|HTTPModuleFunctions|HTTPReceiver|HTTPResponseAck|SocketModeReceiver)\.js$/,
    'exports.default = undefined;',
  ),
  // oxlint-disable-next-line require-unicode-regexp
  replacing('no-oauth', /@slack\/oauth\/dist\/index\.js$/, 'module.exports = {};'),
  // Of its parts speech and embeddings are used, and of its clients one.
  // oxlint-disable-next-line require-unicode-regexp
  replacing('one-client-of-openai', /\/openai\/index\.mjs$/, "export { OpenAI } from './client.mjs';"),
  replacing(
    'used-parts-of-openai',
    // oxlint-disable-next-line require-unicode-regexp
    /\/openai\/resources\/([b-df-z].*|admin.*|evals.*)\.mjs$/,
    emptyClasses,
  ),
  pricesAsJson(),
  // Only the parser itself is used.
  // oxlint-disable-next-line require-unicode-regexp
  replacing('parser-alone', /\/htmlparser2\/dist\/esm\/index\.js$/, "export { Parser } from './Parser.js';"),
  // Its reader of YAML is never called: front matter is read with ours.
  // oxlint-disable-next-line require-unicode-regexp
  replacing('one-yaml', /\/js-yaml\/index\.js$/, 'exports.safeLoad = exports.safeDump = () => {};'),
  // Links are found by our own rules where they are found at all.
  // oxlint-disable-next-line require-unicode-regexp
  replacing('no-linkify', /\/linkify-it\/build\/index\.mjs$/, 'export class LinkifyIt {}'),
];
