import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

interface Definition {
  readonly 'x-side'?: string;
  readonly 'x-method'?: string;
}

const FILE = fileURLToPath(import.meta.resolve('@agentclientprotocol/sdk/schema/v1/schema.json'));

let compiled: Promise<ReadonlyMap<string, ValidateFunction>> | undefined;

/** What the SDK's schema says of a frame: by side, method and what it is (`Request`, `Notification`, `Response`). */
async function compile(): Promise<ReadonlyMap<string, ValidateFunction>> {
  // Its alternatives overlap.
  const schema = JSON.parse((await readFile(FILE, 'utf8')).replaceAll('"oneOf"', '"anyOf"')) as {
    readonly $defs: Readonly<Record<string, Definition>>;
  };
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
  ajv.addSchema(schema, 'acp');
  const checks = new Map<string, ValidateFunction>();
  for (const [name, { 'x-side': side, 'x-method': method }] of Object.entries(schema.$defs)) {
    const kind = /(?:Request|Notification|Response)$/u.exec(name)?.[0];
    const check = ajv.getSchema(`acp#/$defs/${name}`);
    if (side !== undefined && method !== undefined && kind !== undefined && check !== undefined)
      checks.set(`${side} ${method} ${kind}`, check);
  }
  const error = ajv.getSchema('acp#/$defs/Error');
  if (error !== undefined) checks.set('error', error);
  return checks;
}

/** A stream of an editor that checks every frame of the assistant against the schema; what is wrong is put into `problems`. */
export async function checkedStream(stream: Stream, problems: string[]): Promise<Stream> {
  const checks = await (compiled ??= compile());
  const asked = new Map<unknown, string>();
  const check = (key: string, value: unknown): void => {
    const of = checks.get(key);
    if (of === undefined) problems.push(`the schema has no ${key}`);
    else if (!of(value)) {
      const why = (of.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`).join('; ');
      problems.push(`${key}: ${why}: ${JSON.stringify(value).slice(0, 400)}`);
    }
  };
  const heard = (message: AnyMessage): void => {
    if ('method' in message) {
      if (message.method.startsWith('$/')) return;
      check(`client ${message.method} ${'id' in message ? 'Request' : 'Notification'}`, message.params);
    } else if ('error' in message) check('error', message.error);
    else check(`agent ${asked.get(message.id) ?? '?'} Response`, message.result);
  };
  const incoming = new TransformStream<AnyMessage, AnyMessage>({
    transform: (message, controller) => {
      heard(message);
      controller.enqueue(message);
    },
  });
  const outgoing = new TransformStream<AnyMessage, AnyMessage>({
    transform: (message, controller) => {
      if ('method' in message && 'id' in message) asked.set(message.id, message.method);
      controller.enqueue(message);
    },
  });
  outgoing.readable.pipeTo(stream.writable).catch(() => {});
  return { readable: stream.readable.pipeThrough(incoming), writable: outgoing.writable };
}
