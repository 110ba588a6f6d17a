import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import type { Environment } from './environment.ts';

/** A setting that names a variable which is not set; it counts as left out. */
export interface MissingVariable {
  readonly path: readonly string[];
  readonly variable: string;
}

export interface Resolved {
  readonly value: unknown;
  /** Everything that was read from a file. */
  readonly secrets: readonly string[];
  readonly missing: readonly MissingVariable[];
  /** The variables that were named and are set. */
  readonly variables: readonly string[];
  /** Paths, joined by dots, of texts that came from a variable or a file. */
  readonly referenced: ReadonlySet<string>;
}

const SECRET_KEY =
  /(?:^|[a-z_])(?:token|Token|apiKey|ApiKey|secret|Secret|password|Password|_TOKEN|_KEY|_SECRET|_PASSWORD)$/u;
const SECRET_VARIABLE = /(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD)$/u;
/** Maps whose values are often secrets. */
const SECRET_MAPS: ReadonlySet<string> = new Set(['headers', 'env']);
const VARIABLE = /\$(?<escaped>\$?)\{(?:env:)?(?<name>\w+)(?::-(?<fallback>[^{}]*))?\}/gu;

/** A variable with such a name counts as a secret, regardless of its value. */
const SECRET_NAME = /key|token|secret|pass|auth|cred|pw|pin|login/iu;
/** Words, numbers, paths and plain addresses, which many texts hold: `production`, `/usr/bin`, `application/json`. */
const ORDINARY = /^(?:[a-z]+|[A-Z]+|[A-Z][a-z]+|[\d.]+|[~./][^\s=]*|https?:\/\/[^\s@?]+|[a-z]+\/[a-z0-9.+*-]+)$/u;

/** Whether the value at this path is never shown. */
export function isSecretPath(path: readonly string[]): boolean {
  const keys = path.filter((key) => !/^\d+$/u.test(key));
  // An address with a password in it.
  if (path.length === 1 && path[0] === 'store') return true;
  return SECRET_KEY.test(keys.at(-1) ?? '') || SECRET_MAPS.has(keys.at(-2) ?? '');
}

/**
 * Replaces `${NAME}`, also written `${env:NAME}` or `${NAME:-default}`, in texts by the variable's value (`$${NAME}` stays
 * as `${NAME}`) and `{"file": path}` by the
 * file's content without the white space around it; relative paths start at `folder`. Throws `config-invalid` naming
 * key and file when a file cannot be read.
 */
export async function resolveReferences(raw: unknown, env: Environment, folder: string): Promise<Resolved> {
  const secrets: string[] = [];
  const missing: MissingVariable[] = [];
  const variables = new Set<string>();
  const referenced = new Set<string>();

  const resolve = async (value: unknown, path: readonly string[]): Promise<unknown> => {
    if (typeof value === 'string') return expand(value, path);
    if (Array.isArray(value)) {
      const items = await Promise.all(value.map((item: unknown, index) => resolve(item, [...path, String(index)])));
      return items.filter((item) => item !== undefined);
    }
    if (typeof value !== 'object' || value === null) return value;
    const file = fileReference(value, path);
    if (file !== undefined) {
      const secret = await readSecret(isAbsolute(file) ? file : join(folder, file), path);
      referenced.add(path.join('.'));
      secrets.push(secret);
      return secret;
    }
    const entries = await Promise.all(
      Object.entries(value).map(async ([key, item]) => [key, await resolve(item, [...path, key])] as const),
    );
    return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
  };

  const expand = (text: string, path: readonly string[]): string | undefined => {
    let complete = true;
    const expanded = text.replaceAll(VARIABLE, (whole: string, escaped: string, name: string, fallback?: string) => {
      if (escaped !== '') return whole.slice(1);
      const value = env[name];
      referenced.add(path.join('.'));
      if (value !== undefined && value !== '') {
        variables.add(name);
        return value;
      }
      if (fallback !== undefined) return fallback;
      missing.push({ path, variable: name });
      complete = false;
      return '';
    });
    return complete ? expanded : undefined;
  };

  const value = await resolve(raw, []);
  return { value, secrets, missing, variables: [...variables], referenced };
}

/** Every secret in the configuration and the environment, for redaction. */
export function collectSecrets(config: unknown, env: Environment, fromFiles: readonly string[]): readonly string[] {
  const found = new Set(fromFiles);
  const walk = (value: unknown, path: readonly string[]): void => {
    if (typeof value === 'string') {
      if (isSecretPath(path) && !isOrdinary(value, path)) found.add(value);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) walk(item, [...path, key]);
    }
  };
  walk(config, []);
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && SECRET_VARIABLE.test(name)) found.add(value);
  }
  found.delete('');
  return [...found];
}

/** Of maps in which not all is secret: taking such a word out of every text would spoil them. */
function isOrdinary(value: string, path: readonly string[]): boolean {
  return SECRET_MAPS.has(path.at(-2) ?? '') && !SECRET_NAME.test(path.at(-1) ?? '') && ORDINARY.test(value);
}

function fileReference(value: object, path: readonly string[]): string | undefined {
  if (SECRET_MAPS.has(path.at(-1) ?? '') || Object.keys(value).length !== 1) return undefined;
  return 'file' in value && typeof value.file === 'string' ? value.file : undefined;
}

async function readSecret(file: string, path: readonly string[]): Promise<string> {
  const key = path.join('.');
  let text: string;
  try {
    text = (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    const why = errorCode(cause) === 'ENOENT' ? 'there is no such file' : errorMessage(cause);
    throw fileError(`${key} is to be read from ${file}, but ${why}. Create the file or correct the path.`, key, file);
  }
  if (text === '') throw fileError(`${key} is to be read from ${file}, but that file is empty.`, key, file);
  return text;
}

function fileError(message: string, key: string, file: string): AppError {
  return new AppError('config-invalid', message, { exitCode: 78, facts: { key, file } });
}
