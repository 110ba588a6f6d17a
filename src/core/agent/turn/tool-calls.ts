import type { App } from '../../app.ts';
import type { ToolCallPart } from '../../providers/provider.ts';
import { boundaryFor, fence, harmless } from '../../security/text/untrusted.ts';
import type { EntryDraft } from '../../session/entry.ts';
import type { Durability } from '../../storage/files.ts';
import { callTitle, errorResult, renderResult } from '../../tools/registry/result.ts';
import type { RunPart, ToolContext, ToolResult } from '../../tools/tool.ts';
import { Slots } from '../../util/slots.ts';
import { cut, oneLine } from '../../util/text.ts';
import type { TurnFacts } from '../hooks/hooks.ts';
import { imageParts } from '../prompt/images.ts';
import type { Live } from './live.ts';
import type { PendingCall } from './steps.ts';
import { filesOf } from './call-files.ts';

export interface ToolCalls {
  readonly app: App;
  readonly facts: TurnFacts;
  readonly live: Live;
  readonly context: (callId: string) => ToolContext;
  readonly append: (drafts: readonly EntryDraft[], durability: Durability) => Promise<void>;
  /** Runs a task while it holds one of the slots that limit how much runs at once. */
  readonly slot: <T>(task: () => Promise<T>) => Promise<T>;
  /** Called once for each call that a crash cut off, so that its outcome is unknown; it tells the person. */
  readonly interrupted: (callId: string, name: string) => Promise<void>;
}

/** Characters of why a call failed, for people who watch. */
const LONGEST_PROBLEM = 400;
/** Characters of a change that people who watch are shown. */
const LONGEST_DIFF = 8_000;

/** What the model reads about a call that a crash cut off. */
const INTERRUPTED =
  'interrupted: the process stopped while this ran; it may or may not have taken effect. Check before you do it again.';

/** What the model reads about a call that the output limit cut off. */
const CUT_OFF =
  'Not run: your message reached the output limit, so this call may not be whole. Make it again, in smaller pieces.';

/**
 * Runs the calls of one step. Neighbouring calls without effects (class `none`) run in parallel, all others one by one.
 * Each result is on the tape before the next call with effects starts.
 */
export async function runCalls(calls: readonly PendingCall[], turn: ToolCalls): Promise<void> {
  for (const group of groups(calls, turn)) {
    const drafts = await Promise.all(group.map((pending) => resultOf(pending, turn)));
    // The next effect, or the end of the turn, makes it durable. After a power loss before that, calls without effects run again.
    await turn.append(drafts, 'lazy');
  }
}

function groups(calls: readonly PendingCall[], { app, facts }: ToolCalls): PendingCall[][] {
  const all: PendingCall[][] = [];
  let readers: PendingCall[] | undefined;
  for (const pending of calls) {
    if (app.tools.effectOf(pending.call.name, facts.sessionKey) !== 'none') {
      readers = undefined;
      all.push([pending]);
    } else if (readers === undefined) {
      readers = [pending];
      all.push(readers);
    } else {
      readers.push(pending);
    }
  }
  return all;
}

async function resultOf(pending: PendingCall, turn: ToolCalls): Promise<EntryDraft> {
  const { callId, name } = pending.call;
  if (pending.started) {
    await turn.interrupted(callId, name);
    return toolEntry(turn.facts.turnId, pending, await withoutRun(pending.call, INTERRUPTED, 'unknown', turn), true);
  }
  if (pending.cutOff) {
    return toolEntry(turn.facts.turnId, pending, await withoutRun(pending.call, CUT_OFF, 'failed', turn), false);
  }
  turn.live(toolStart(pending.call, turn));
  const runPart = callsInside(pending, turn);
  const result = await run(pending.call, { ...turn, context: (id) => ({ ...turn.context(id), runPart }) });
  turn.live(toolEnd(pending.call, result));
  return await withImages(pending, result, turn);
}

/** The result with its images stored for the model; for an image that cannot be shown, a line in the output says why. */
async function withImages(pending: PendingCall, result: ToolResult, turn: ToolCalls): Promise<EntryDraft> {
  const parts = await imageParts(result.media ?? [], turn.app.media);
  const images = parts.flatMap((part) => (part.type === 'image' ? [part] : []));
  const notes = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const output = [result.output, ...notes].join('\n');
  const entry = toolEntry(turn.facts.turnId, pending, { ...result, output }, false);
  if (entry.kind !== 'message' || entry.role !== 'tool') return entry;
  const { source = 'an outside source' } = turn.app.tools.named(pending.call.name, turn.facts.sessionKey) ?? {};
  return {
    ...entry,
    ...(result.untrusted === true ? { source } : {}),
    ...(images.length === 0 ? {} : { images }),
  };
}

/**
 * Makes the function by which a tool runs other tools within its own call. Each inner call has its own id
 * (`<outer call id>.<n>`), slot and intent. Their questions are asked one at a time. One that a crash cut off is not run again.
 */
function callsInside({ call: outer, begun }: PendingCall, turn: ToolCalls): RunPart {
  const questions = new Slots(1);
  const inTurn = (callId: string): ToolContext => {
    const context = turn.context(callId);
    const { signal, people } = context;
    return {
      ...context,
      people: {
        ...people,
        approve: (request) =>
          request.joins === undefined ? questions.run(() => people.approve(request), signal) : people.approve(request),
        ask: (question) => questions.run(() => people.ask(question), signal),
      },
    };
  };
  return async (n, { name, arguments: given }) => {
    const callId = `${outer.callId}.${n}`;
    const call = { ...outer, callId, name, arguments: given };
    if (begun?.has(callId) === true) {
      await turn.interrupted(callId, name);
      return await withoutRun(call, INTERRUPTED, 'unknown', turn);
    }
    turn.live(toolStart(call, turn));
    const result = await run(call, { ...turn, context: inTurn });
    turn.live(toolEnd(call, result));
    return result;
  };
}

function toolStart(call: ToolCallPart, { context }: Pick<ToolCalls, 'context'>): Parameters<Live>[0] {
  const { callId, name } = call;
  const files = filesOf(call, context(callId).files.workingDirectory);
  return { type: 'tool-start', callId, name, title: callTitle(call), ...(files.length === 0 ? {} : { files }) };
}

function toolEnd(call: ToolCallPart, result: ToolResult): Parameters<Live>[0] {
  const { callId, name } = call;
  const { isError = false, refused, output, failure = output, diff } = result;
  // What was not done has no title of its own: it is named as it was begun.
  const title = result.title === name ? callTitle(call) : result.title;
  const why = refused === true ? { refused: failure } : isError ? { problem: oneLine(failure, LONGEST_PROBLEM) } : {};
  const changes = diff === undefined ? {} : { diff: cut(diff, LONGEST_DIFF) };
  return { type: 'tool-end', callId, name, title, isError, ...why, ...changes };
}

async function run(call: ToolCallPart, turn: ToolCalls): Promise<ToolResult> {
  const before = await turn.app.hooks.decide(
    'beforeTool',
    { name: call.name, arguments: call.arguments },
    (hooks, value) => hooks.beforeTool?.(turn.facts, value),
  );
  if ('denied' in before) {
    const failure = `The plugin ${before.by} did not allow it: ${before.denied}`;
    return { ...(await withoutRun(call, before.denied, 'refused', turn)), refused: true, failure };
  }
  const hooked = before.value;
  const intent = (name: string): EntryDraft => ({
    kind: 'intent',
    turn: turn.facts.turnId,
    callId: call.callId,
    name,
    class: 'effect',
  });
  const result = await turn.app.tools.run(hooked, turn.context(call.callId), {
    // The call, and for effects the intent, survive a power loss before it starts: after a crash the outcome of an
    // effect counts as unknown, and no other call has this id.
    beforeEffect: (effect) => turn.append(effect === 'effect' ? [intent(hooked.name)] : [], 'durable'),
    slot: turn.slot,
  });
  const after = await turn.app.hooks.decide('afterTool', result, (hooks, value) =>
    hooks.afterTool?.(turn.facts, hooked, value),
  );
  const { media: _unseen, failure: _replaced, ...unshown } = result;
  const shown = 'denied' in after ? { ...unshown, output: after.denied, isError: true } : after.value;
  // A result that a hook rewrote keeps the marks of the original, and what it did.
  return {
    ...shown,
    ...(result.effects === undefined ? {} : { effects: result.effects }),
    ...(result.untrusted === true ? { untrusted: true } : {}),
    ...(result.private === true ? { private: true } : {}),
    ...(result.silences === true ? { silences: true } : {}),
  };
}

/** The result of a call that is not run. */
async function withoutRun(
  call: ToolCallPart,
  output: string,
  outcome: 'unknown' | 'failed' | 'refused',
  { app, context }: ToolCalls,
): Promise<ToolResult> {
  const effects = await app.tools.effectsOf(call, context(call.callId), { outcome });
  return { ...errorResult(call.name, output), effects };
}

/** The result of a call as the tape keeps it. */
export function toolEntry(turnId: string, { call }: PendingCall, result: ToolResult, fixedId: boolean): EntryDraft {
  return {
    ...(fixedId ? { id: `${call.callId}:interrupted` } : {}),
    kind: 'message',
    role: 'tool',
    turn: turnId,
    callId: call.callId,
    name: call.name,
    output: renderResult(
      result.untrusted === true && result.skill === undefined ? fenced(result, call.name, turnId) : result,
    ),
    isError: result.isError === true,
    ...problemOf(result),
    ...(result.untrusted === true ? { untrusted: true } : {}),
    ...(result.private === true ? { private: true } : {}),
    ...(result.silences === true && result.isError !== true ? { silences: true } : {}),
    ...(result.approved === true ? { approved: true } : {}),
    ...(result.author === undefined || result.isError === true ? {} : { author: result.author }),
    ...(result.effects === undefined ? {} : { effects: result.effects }),
    ...(result.skill === undefined ? {} : { skills: [result.skill] }),
  };
}

/** Why a call was refused or failed, in one line for people. */
function problemOf({ isError, refused, output, note = '', failure }: ToolResult): {
  readonly problem?: string;
  readonly refused?: boolean;
} {
  const problem = isError === true ? oneLine(failure ?? `${output} ${note}`, LONGEST_PROBLEM) : '';
  return { ...(problem === '' ? {} : { problem }), ...(refused === true ? { refused } : {}) };
}

/** Fences the output and makes the header harmless. It is stored so on the tape, because the model reads the tape. */
function fenced(result: ToolResult, name: string, turnId: string): ToolResult {
  const { output } = result;
  const metadata = Object.entries(result.metadata).map(([key, value]) => [
    key,
    typeof value === 'string' ? harmless(value) : value,
  ]);
  return {
    ...result,
    title: harmless(result.title),
    metadata: Object.fromEntries(metadata),
    output: output === '' ? '' : fence(output, { source: name, boundary: boundaryFor(turnId, output) }),
  };
}
