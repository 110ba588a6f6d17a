import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { validateAnthropicRequest } from './validate-anthropic.ts';
import { validateResponsesRequest } from './validate-openai-responses.ts';
import { validateOpenAiRequest } from './validate-openai.ts';
import { isRecord } from './validate.ts';

const APIS = {
  openai: { schema: 'openai-chat-completions.request.json', validate: validateOpenAiRequest },
  'openai-responses': { schema: 'openai-responses.request.json', validate: validateResponsesRequest },
  anthropic: { schema: 'anthropic-messages.request.json', validate: validateAnthropicRequest },
} as const;

interface ApiCount {
  requests: number;
  /** Refused by our validator; deliberate in tests of the doubles. */
  illegal: number;
}

export interface SchemaReport {
  readonly counts: Readonly<Record<keyof typeof APIS, ApiCount>>;
  /** One sentence for each request that the schema refuses and our validator passes. */
  readonly differences: readonly string[];
}

/**
 * Holds each recorded line `{api, body}` against the official schema in the folder and against our validator.
 * Throws for a line that is no such record.
 */
export async function checkRecording(schemaFolder: string, recording: string): Promise<SchemaReport> {
  const schemas = {
    openai: await compile(join(schemaFolder, APIS.openai.schema)),
    'openai-responses': await compile(join(schemaFolder, APIS['openai-responses'].schema)),
    anthropic: await compile(join(schemaFolder, APIS.anthropic.schema)),
  };
  const counts = {
    openai: { requests: 0, illegal: 0 },
    'openai-responses': { requests: 0, illegal: 0 },
    anthropic: { requests: 0, illegal: 0 },
  };
  const differences: string[] = [];
  let line = 0;
  for await (const text of createInterface({ input: createReadStream(recording), crlfDelay: Infinity })) {
    line += 1;
    if (text === '') continue;
    const record: unknown = JSON.parse(text);
    const api = isRecord(record) ? record['api'] : undefined;
    if (!isRecord(record) || !isApi(api)) {
      throw new Error(
        `line ${line} of ${recording} is not a record {api: "openai" | "openai-responses" | "anthropic", body}`,
      );
    }
    counts[api].requests += 1;
    const ours = APIS[api].validate(record['body']);
    if (ours.length > 0) counts[api].illegal += 1;
    const schema = schemas[api];
    if (schema(record['body']) || ours.length > 0) continue;
    const reasons = (schema.errors ?? []).map((error) => `${error.instancePath} ${error.message ?? error.keyword}`);
    differences.push(`line ${line} (${api}): ${[...new Set(reasons)].slice(0, 8).join('; ')}`);
  }
  return { counts, differences };
}

function isApi(value: unknown): value is keyof typeof APIS {
  return typeof value === 'string' && Object.hasOwn(APIS, value);
}

async function compile(file: string): Promise<ValidateFunction> {
  const ajv = new Ajv2020({
    strict: false,
    formats: { uri: (text: string) => URL.canParse(text), unixtime: true },
    logger: false,
  });
  // Some of their alternatives overlap, so that legal requests match more than one.
  const schema: unknown = JSON.parse((await readFile(file, 'utf8')).replaceAll('"oneOf"', '"anyOf"'));
  if (!isRecord(schema)) throw new Error(`${file} holds no JSON Schema object`);
  return ajv.compile(schema);
}
