import * as z from 'zod';
import type { Role } from '../bus/messages.ts';
import { errorResult } from './registry/result.ts';
import { defineTool, type Taint, type Tool, type ToolContext, type ToolResult } from './tool.ts';

/** The turn that an action is asked for in; it stays whole. */
export interface TapeCall extends Taint {
  readonly turnId: string;
  /** Done twice under one id, an action is done once. */
  readonly callId: string;
}

export interface TapeAnswer extends Taint {
  /** Markdown. */
  readonly text: string;
  /** Nothing was done; the text says why. */
  readonly refused: boolean;
}

/** What can be done with the record of a session. */
export interface TapeActions {
  info(sessionKey: string): Promise<TapeAnswer>;
  /** Finds what was said. What is private is for the owner alone. */
  search(request: { sessionKey: string; query: string; role: Role; signal?: AbortSignal }): Promise<TapeAnswer>;
  anchors(request: { sessionKey: string; role: Role }): Promise<TapeAnswer>;
  /** Lets a summary stand for all that was said before the running turn; null: none is running. */
  handoff(request: { sessionKey: string; summary: string; during: TapeCall | null }): Promise<TapeAnswer>;
  /** Lets all that was said before the running turn leave the conversation. */
  reset(request: { sessionKey: string; archive: boolean; during: TapeCall | null }): Promise<TapeAnswer>;
}

const CHANGES: ReadonlySet<string> = new Set(['handoff', 'reset']);

const parameters = z.object({
  action: z
    .enum(['info', 'search', 'anchors', 'handoff', 'reset'])
    .describe(
      'What to do: info tells how long the conversation and how full your context is; search finds exact words in it (memory_search searches more); anchors lists the summaries that stand for older parts; handoff replaces all before this turn by a summary that you write; reset removes it without one.',
    ),
  text: z
    .string()
    .optional()
    .describe(
      'Required for search: words that stand together. Required for handoff: the summary, at most 8000 characters, with all that you still need.',
    ),
  archive: z.boolean().optional().describe('For reset: true also sums it up in the long-term memory. Default: false.'),
});

export function tapeTool(actions: TapeActions): Tool {
  return defineTool({
    name: 'tape',
    withheldFrom: ['visit'],
    description:
      'Look into the full record of this conversation, or take its earlier parts out of what you are shown, for good; search still finds them. Take them out only when the person asks or the conversation is too long to work in.',
    parameters,
    // An anchor has the id of its call, and a second reset in one turn changes nothing.
    effect: 'idempotent',
    plan: (params, context) => {
      const { action } = params;
      const about = CHANGES.has(action) ? ([{ kind: 'conversation', target: action }] as const) : [];
      if (context.person.role === 'guest' && CHANGES.has(action)) {
        return { denied: `tape ${action} is not for guests.`, about };
      }
      const run = (signal: AbortSignal): Promise<ToolResult> => act(actions, params, { ...context, signal });
      if (action !== 'reset') return { run, about };
      const title = 'Remove all that was said before from the conversation';
      return { run, about, reaches: { action: { kind: 'irreversible' }, title, detail: 'tape reset' } };
    },
  });
}

async function act(
  actions: TapeActions,
  { action, text = '', archive = false }: z.infer<typeof parameters>,
  context: ToolContext,
): Promise<ToolResult> {
  const { signal } = context;
  const { sessionKey } = context.call;
  const { role } = context.person;
  const during = runningTurn(context);
  switch (action) {
    case 'info':
      return toResult(action, await actions.info(sessionKey));
    case 'search':
      return toResult(action, await actions.search({ sessionKey, query: text, role, signal }));
    case 'anchors':
      return toResult(action, await actions.anchors({ sessionKey, role }));
    case 'handoff':
      return toResult(action, await actions.handoff({ sessionKey, summary: text, during }));
    case 'reset':
      return toResult(action, await actions.reset({ sessionKey, archive, during }));
  }
}

function runningTurn({ call, conversation }: ToolContext): TapeCall {
  return { turnId: call.turnId, callId: call.id, ...conversation.taint };
}

function toResult(action: string, answer: TapeAnswer): ToolResult {
  const title = `tape ${action}`;
  if (answer.refused) return errorResult(title, answer.text);
  return {
    title,
    output: answer.text,
    metadata: {},
    ...(answer.untrusted ? { untrusted: true } : {}),
    ...(answer.private ? { private: true } : {}),
  };
}
