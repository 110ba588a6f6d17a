import { readFile } from 'node:fs/promises';
import type { Plugin } from 'rolldown';

/** Bundles other text in the place of the files of a package that `id` finds in their paths. */
function replacing(name: string, id: RegExp, text: string | ((path: string) => Promise<string>)): Plugin {
  const load = async (path: string): Promise<string> => (typeof text === 'string' ? text : await text(path));
  return { name, load: { filter: { id }, handler: load } };
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
    load: {
      filter: { id: /@pydantic\/genai-prices\/dist\/index\.js$/u },
      async handler(path) {
        const { json, rest } = await parts(path);
        const file = this.emitFile({ type: 'asset', name: 'prices.json', source: json });
        return `import { readFileSync } from 'node:fs';
const E = JSON.parse(readFileSync(new URL(import.meta.ROLLUP_FILE_URL_${file}), 'utf8')).map((one) => {
  let { models } = one;
  const get = () => (models = typeof models === 'string' ? JSON.parse(models) : models);
  return Object.defineProperty(one, 'models', { get });
})${rest}`;
      },
    },
  };
}

/** What the bundle has of packages in the place of their own files. */
export const REPLACED: readonly Plugin[] = [
  // Of zod's messages in fifty languages the English ones: the others are half of what is loaded of it.
  replacing('one-locale', /zod\/v4\/locales\/index\.js$/u, "export { default as en } from './en.js';"),
  // Bolt has a receiver of ours; its own bring express, OAuth and parsers of bodies with them.
  replacing(
    'one-receiver',
    /@slack\/bolt\/dist\/receivers\/(AwsLambdaReceiver|ExpressReceiver|HTTPModuleFunctions|HTTPReceiver|HTTPResponseAck|SocketModeReceiver)\.js$/u,
    'exports.default = undefined;',
  ),
  replacing('no-oauth', /@slack\/oauth\/dist\/index\.js$/u, 'module.exports = {};'),
  // Of its parts speech and embeddings are used, and of its clients one.
  replacing('one-client-of-openai', /\/openai\/index\.mjs$/u, "export { OpenAI } from './client.mjs';"),
  replacing('used-parts-of-openai', /\/openai\/resources\/([b-df-z].*|admin.*|evals.*)\.mjs$/u, emptyClasses),
  pricesAsJson(),
  // Only the parser itself is used.
  replacing('parser-alone', /\/htmlparser2\/dist\/esm\/index\.js$/u, "export { Parser } from './Parser.js';"),
  // Its reader of YAML is never called: front matter is read with ours.
  replacing('one-yaml', /\/js-yaml\/index\.js$/u, 'exports.safeLoad = exports.safeDump = () => {};'),
  // Links are found by our own rules where they are found at all.
  replacing('no-linkify', /\/linkify-it\/build\/index\.mjs$/u, 'export class LinkifyIt {}'),
];
