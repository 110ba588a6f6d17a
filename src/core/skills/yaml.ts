import { parseDocument } from 'yaml';

/** More would be a bomb: front matter hardly ever has one. */
const MAX_ALIASES = 20;

/** A parser can be kept busy for seconds by longer texts; front matter hardly ever has a tenth of it. */
const LONGEST = 10_240;

/** Reads YAML 1.2 (core schema; of keys that come twice the last counts); throws the first error, and for long texts. */
export function parseYaml(text: string): unknown {
  if (text.length > LONGEST) throw new RangeError('it is very long');
  const document = parseDocument(text, {
    schema: 'core',
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  return document.toJS({ maxAliasCount: MAX_ALIASES });
}
