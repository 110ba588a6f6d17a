import type { Hono } from 'hono';
import * as z from 'zod';
import { callOperation } from '../operations/call.ts';
import { jsonBody, type HttpEnv } from './answer.ts';
import type { Inside } from './options.ts';

/** Who calls, for the audit log. */
const DOOR = 'web:owner';

/** `POST /api/operations/<name>`: everything that the command line can ask too. */
export function serveOperations(hono: Hono<HttpEnv>, { app, assistant }: Inside): void {
  hono.post('/api/operations/:name', async (context) => {
    const name = context.req.param('name');
    const params = await jsonBody(context, z.record(z.string(), z.unknown()));
    const result = (await callOperation(assistant, { name, params }, { door: DOOR })) ?? null;
    const text = app.redact(
      JSON.stringify({ result }),
      assistant.operations.showsRuns(name) ? { knownBy: 'value' } : {},
    );
    return context.body(text, 200, { 'Content-Type': 'application/json' });
  });
}
