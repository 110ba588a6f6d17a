import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGuardedFetch, type GuardedFetch } from '../../src/core/security/fetch/fetch.ts';
import type { ReadApart } from '../../src/core/tools/reading/reader.ts';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import type { Tool, ToolResult } from '../../src/core/tools/tool.ts';
import { readPage, type PageTask } from '../../src/extensions/web/page.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { startServer } from '../support/http.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';

export interface Route {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface WebWorld extends AsyncDisposable {
  /** Of the site; no slash at its end. */
  readonly url: string;
  readonly host: string;
  /** Reaches the site and nothing else that is private. */
  readonly fetch: GuardedFetch;
  /** Every request, in order. */
  readonly asked: { readonly path: string; readonly method: string; readonly headers: IncomingMessage['headers'] }[];
}

/** A site on 127.0.0.1: a page for each path, or a function that answers. */
export async function webWorld(
  site: Readonly<Record<string, string | Route>> | ((request: IncomingMessage, response: ServerResponse) => unknown),
): Promise<WebWorld> {
  const asked: WebWorld['asked'][number][] = [];
  const server = await startServer(async (request, response) => {
    const path = request.url ?? '/';
    asked.push({ path, method: request.method ?? '', headers: request.headers });
    if (typeof site === 'function') {
      await site(request, response);
      return;
    }
    const found = site[path] ?? { status: 404, body: 'nothing is here' };
    const {
      status = 200,
      headers = { 'content-type': 'text/html; charset=utf-8' },
      body = '',
    } = typeof found === 'string' ? { body: found } : found;
    response.writeHead(status, headers).end(body);
  });
  const host = `127.0.0.1:${server.port}`;
  const fetch = createGuardedFetch({ allowHosts: [host], denyHosts: [], clock: systemClock });
  return { url: server.url, host, fetch, asked, [Symbol.asyncDispose]: () => server.close() };
}

/** Reads pages without a child process, which is tested by itself. */
export const readHere: ReadApart = async ({ task, source, facts }) => {
  const bytes = 'bytes' in source ? source.bytes : new Uint8Array();
  const { text, ...rest } = await readPage(bytes, task as PageTask, () => true);
  return { ...facts.parse(rest), text };
};

export type Call = (args: unknown, context?: Partial<TestCall>) => Promise<ToolResult>;

/** Calls one tool as a model does, through a registry. */
export function caller(tool: Tool, options: { readonly maxOutput?: number } = {}): Call {
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: ['web_search', 'web_fetch'] },
    clock: systemClock,
    redact: (text) => text,
    maxOutput: options.maxOutput ?? 16_000,
  });
  registry.register(tool);
  return (args, context = {}) =>
    registry.run({ name: tool.name, arguments: JSON.stringify(args) }, testToolContext(context));
}

/** A PDF with one line of text on each page; its characters must be plain ASCII without brackets. */
export function pdfOf(pages: readonly string[], title = 'A document'): Buffer {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pages.map((_, at) => `${5 + at * 2} 0 R`).join(' ')}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    `<< /Title (${title}) >>`,
    ...pages.flatMap((text, at) => {
      const stream = `BT /F1 12 Tf 72 720 Td (${text}) Tj ET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${6 + at * 2} 0 R >>`,
        `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
      ];
    }),
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, at) => {
    const offset = file.length;
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const start = file.length;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join('')}`;
  file += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info 4 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(file, 'latin1');
}
