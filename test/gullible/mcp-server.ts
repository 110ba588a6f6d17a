/*
 * An MCP server over standard input and output. All that it says is in the file that its argument names, read anew for
 * each answer; it waits for the file, and tells when other tools stand there. The calls go to a file beside it, `.calls`.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

interface Script {
  readonly descriptions: readonly string[];
  readonly answer: string;
}

const file = process.argv[2] ?? '';
const LOOK_MS = 25;
/** What the client knows. */
let listed: string | undefined;

async function script(): Promise<Script> {
  while (!existsSync(file)) await sleep(LOOK_MS);
  return JSON.parse(readFileSync(file, 'utf8'));
}

interface Params {
  readonly protocolVersion?: string;
  readonly arguments?: { readonly make?: string; readonly parts?: readonly string[] };
}

/** What can be made of the parts of a call. */
const MAKERS: Readonly<Record<string, (text: string) => string>> = {
  join: (text) => text,
  fail: (text) => text,
  reverse: (text) => Array.from(text).toReversed().join(''),
  base64: (text) => Buffer.from(text, 'base64').toString(),
  hex: (text) => Buffer.from(text, 'hex').toString(),
  unescape: decodeURIComponent,
  lower: (text) => text.toLowerCase(),
};

/** Without parts it is what the file says, else what the call asks to be made of them. */
async function answerTo({ make = 'join', parts = [] }: NonNullable<Params['arguments']>): Promise<unknown> {
  const text = parts.length === 0 ? (await script()).answer : (MAKERS[make]?.(parts.join('')) ?? '');
  return { content: [{ type: 'text', text }], ...(make === 'fail' ? { isError: true } : {}) };
}

async function resultFor(method: string, params: Params | undefined): Promise<unknown> {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params?.protocolVersion ?? '2025-06-18',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'recipes', version: '1.0.0' },
      };
    case 'tools/list': {
      const { descriptions } = await script();
      listed = JSON.stringify(descriptions);
      const tools = descriptions.map((description, n) => {
        return {
          name: `cook_${n}`,
          description,
          inputSchema: { type: 'object', properties: { make: { type: 'string' }, parts: { type: 'array' } } },
        };
      });
      return { tools };
    }
    case 'tools/call':
      appendFileSync(`${file}.calls`, `${JSON.stringify(params)}\n`);
      return await answerTo(params?.arguments ?? {});
    default:
      return {};
  }
}

function write(message: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

setInterval(() => {
  if (listed === undefined) return;
  void script().then(({ descriptions }) => {
    if (listed === undefined || JSON.stringify(descriptions) === listed) return;
    listed = undefined;
    write({ method: 'notifications/tools/list_changed' });
  });
}, LOOK_MS).unref();

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) continue;
  write({ id, result: await resultFor(method, params) });
}
