import type { Hono } from 'hono';
import * as z from 'zod';
import type { AssistantPort } from '../assistant-port.ts';
import { auditLine, callOperation, showsRuns } from '../operations/call.ts';
import { isRequestName } from '../operations/operations.ts';
import { jsonBody, type HttpEnv } from './answer.ts';
import type { Changed } from './wire.ts';

/** Who calls, for the audit log. */
const DOOR = 'web:owner';

export interface OperationPorts {
  readonly assistant: Pick<AssistantPort, 'request'>;
  /** Takes secrets out of JSON text; with `showsRuns` only those of the configuration. */
  readonly redact: (json: string, options: { readonly showsRuns: boolean }) => string;
  readonly changed: (what: Changed) => void;
}

/** `POST /api/operations/<name>`: everything that the command line can ask too. */
export function serveOperations(app: Hono<HttpEnv>, { assistant, redact, changed }: OperationPorts): void {
  app.post('/api/operations/:name', async (context) => {
    const name = context.req.param('name');
    const params = await jsonBody(context, z.record(z.string(), z.unknown()));
    const result = (await callOperation(assistant, { name, params }, { door: DOOR })) ?? null;
    const what = CHANGES.find(([begin]) => name.startsWith(begin))?.[1];
    if (what !== undefined && isRequestName(name) && auditLine(name, params) !== null) changed(what);
    const text = redact(JSON.stringify({ result }), { showsRuns: showsRuns(name) });
    return context.body(text, 200, { 'Content-Type': 'application/json' });
  });
}

/** By the beginning of an operation's name, what is different after it. */
const CHANGES: readonly (readonly [string, Changed])[] = [
  ['memory', 'memory'],
  ['files', 'files'],
  ['cron', 'schedule'],
  ['skills', 'skills'],
  ['pair', 'people'],
  ['sessions', 'sessions'],
  ['outbox', 'mail'],
  ['inbox', 'mail'],
];
