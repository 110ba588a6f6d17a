import type { Hono } from 'hono';
import * as z from 'zod';
import type { AssistantPort } from '../assistant-port.ts';
import { callOperation, showsRuns } from '../operations/call.ts';
import { jsonBody, type HttpEnv } from './answer.ts';

/** Who calls, for the audit log. */
const DOOR = 'web:owner';

export interface OperationPorts {
  readonly assistant: Pick<AssistantPort, 'request'>;
  /** Takes secrets out of JSON text; with `showsRuns` only those of the configuration. */
  readonly redact: (json: string, options: { readonly showsRuns: boolean }) => string;
}

/** `POST /api/operations/<name>`: everything that the command line can ask too. */
export function serveOperations(app: Hono<HttpEnv>, { assistant, redact }: OperationPorts): void {
  app.post('/api/operations/:name', async (context) => {
    const name = context.req.param('name');
    const params = await jsonBody(context, z.record(z.string(), z.unknown()));
    const result = (await callOperation(assistant, { name, params }, { door: DOOR })) ?? null;
    const text = redact(JSON.stringify({ result }), { showsRuns: showsRuns(name) });
    return context.body(text, 200, { 'Content-Type': 'application/json' });
  });
}
