import type { InboundMessage } from '../bus/messages.ts';
import type { ModelRequest } from '../providers/provider.ts';
import type { EntryDraft, TapeEntry } from '../session/entry.ts';
import type { ToolContext } from '../tools/tool.ts';
import { errorMessage } from '../util/errors.ts';
import { addUsage, noUsage, type Usage } from '../util/usage.ts';
import { askModel, assistantContent, type ModelOutcome } from './model-call.ts';
import { outboundTo } from './outgoing.ts';
import { callCount, iterationsOf, nextStep, textsOf, type PendingCall } from './steps.ts';
import { runCalls } from './tool-calls.ts';
import { endCut, endDraft, EndTurn, usageOf } from './turn-end.ts';
import type { Turn, TurnPorts } from './turn-context.ts';
import { userEntry } from './user-message.ts';

/**
 * Runs a turn until it is closed on the tape: model, tools, results, model, until done. Works from the tape alone, so
 * the same call begins a fresh turn and continues one that a crash cut off at any step. Throws only when the tape or
 * the journal can not be written, or when the process is being stopped; then the turn stays open and is continued
 * at the next start.
 */
export async function runTurn(turn: Turn, ports: TurnPorts): Promise<void> {
  const { session, facts, signal } = turn;
  for (;;) {
    const entries = session.turn(facts.turnId);
    const step = nextStep(entries);
    if (step.type === 'ended') return;
    if (signal.aborted) {
      if (!(signal.reason instanceof EndTurn)) throw signal.reason;
      await endCut(turn, signal.reason);
      return;
    }
    switch (step.type) {
      case 'begin':
        await begin(turn, ports);
        break;
      case 'run-calls':
        await runTools(turn, ports, step.calls);
        break;
      case 'finish':
        await session.append([endDraft(turn, 'answered', textsOf(entries).answer)]);
        break;
      case 'ask-model':
        await think(turn, ports);
        break;
    }
  }
}

async function begin({ session, facts, role }: Turn, ports: TurnPorts): Promise<void> {
  const { turnId, messages } = facts;
  const users = await userEntries(turnId, messages, ports);
  await session.append([
    {
      kind: 'turn-start',
      turn: turnId,
      sources: messages.map((message) => message.id),
      role,
      origin: messages[0]?.origin ?? 'system',
    },
    ...users,
  ]);
}

function userEntries(turnId: string, messages: readonly InboundMessage[], ports: TurnPorts): Promise<EntryDraft[]> {
  const { redact, media } = ports;
  const options = { timezone: ports.settings.timezone, redact, media };
  return Promise.all(messages.map((message) => userEntry(turnId, message, options)));
}

async function think(turn: Turn, ports: TurnPorts): Promise<void> {
  const { session, facts, live, chosen } = turn;
  await absorbSteered(turn, ports);
  const entries = session.turn(facts.turnId);
  const last = iterationsOf(entries) >= ports.settings.maxIterations - 1;
  if (last) await session.append([lastCallNote(facts.turnId)]);
  const request = await ports.hooks.decide('beforeModel', requestOf(turn, ports, last), (hooks, value) =>
    hooks.beforeModel?.(facts, value),
  );
  if ('denied' in request) {
    await session.append([endDraft(turn, 'failed', request.denied)]);
    return;
  }
  live({ type: 'typing' });
  const outcome = await ports.slots.run(() =>
    askModel({
      provider: chosen.provider,
      request: request.value,
      signal: turn.signal,
      live,
      redact: ports.redact,
    }),
  );
  await record(turn, ports, outcome);
}

/** Writes down what the model said, with the end of the turn in the same append when it is the last word. */
async function record(turn: Turn, ports: TurnPorts, outcome: ModelOutcome): Promise<void> {
  const { session, facts, chosen } = turn;
  if (outcome.type === 'error') {
    if (turn.signal.aborted) return;
    ports.log.warn('a model call failed', { turn: facts.turnId, kind: outcome.kind, reason: outcome.message });
    await session.append([endDraft(turn, 'failed', outcome.message)]);
    return;
  }
  const entries = session.turn(facts.turnId);
  const { redact } = ports;
  const content = assistantContent(outcome.response, {
    turnId: facts.turnId,
    callsBefore: callCount(entries),
    redact,
  });
  const said: EntryDraft = {
    kind: 'message',
    role: 'assistant',
    turn: facts.turnId,
    content: [...content],
    provider: chosen.providerName,
    model: chosen.model,
    stopReason: outcome.stopReason,
    usage: outcome.response.usage,
  };
  countUsage(turn, ports, outcome.response.usage);
  if (content.some((part) => part.type === 'tool-call')) {
    await session.append([said]);
    return;
  }
  const { answer } = textsOf([...entries, ...asEntries(said)]);
  const usage = addUsage(usageOf(turn), outcome.response.usage ?? noUsage);
  const end =
    answer === ''
      ? endDraft(turn, 'failed', 'The model gave an empty answer. Please ask again, perhaps in other words.', usage)
      : endDraft(turn, 'answered', answer, usage);
  await session.append(content.length === 0 ? [end] : [said, end]);
}

function asEntries(draft: EntryDraft): readonly TapeEntry[] {
  return [{ ...draft, v: 1, id: '', at: 0 }];
}

function countUsage({ facts, chosen }: Turn, { journal, log }: TurnPorts, usage: Usage | null): void {
  if (usage === null) return;
  journal.usage
    .record({
      turnId: facts.turnId,
      session: facts.sessionKey,
      source: facts.messages[0]?.origin ?? 'user',
      provider: chosen.providerName,
      model: chosen.model,
      usage,
      costUsd: null,
    })
    .catch((error: unknown) => log.error('could not count the tokens of a call', { reason: errorMessage(error) }));
}

function requestOf(turn: Turn, ports: TurnPorts, last: boolean): ModelRequest {
  const { settings } = ports;
  const tools = ports.registry.specs(turn.role);
  return {
    model: turn.chosen.model,
    system: turn.system,
    messages: turn.session.history().messages.map(({ message }) => message),
    tools,
    toolChoice: last && tools.length > 0 ? 'none' : 'auto',
    maxOutputTokens: settings.maxOutputTokens,
    reasoning: settings.reasoning,
    ...(settings.temperature === null ? {} : { temperature: settings.temperature }),
  };
}

/** Messages that came meanwhile: on the tape first, then taken in the journal, so that a crash between loses none. */
async function absorbSteered(turn: Turn, ports: TurnPorts): Promise<void> {
  const { session, facts } = turn;
  if (iterationsOf(session.turn(facts.turnId)) === 0) return;
  const messages = turn.steer();
  if (messages.length === 0) return;
  await session.append(await userEntries(facts.turnId, messages, ports));
  await ports.journal.turns.absorb(
    facts.turnId,
    messages.map((message) => message.id),
  );
}

async function runTools(turn: Turn, ports: TurnPorts, calls: readonly PendingCall[]): Promise<void> {
  const { session, facts, live } = turn;
  const target = facts.messages.at(-1);
  const taint = session.history();
  const context = (callId: string): ToolContext => ({
    sessionKey: facts.sessionKey,
    turnId: facts.turnId,
    callId,
    messageId: target?.id ?? '',
    workingDirectory: ports.settings.workspace,
    signal: turn.signal,
    role: turn.role,
    origin: target?.origin ?? 'system',
    taint: { untrusted: taint.untrusted, private: taint.private },
    approve: (request) => ports.approvals.ask({ sessionKey: facts.sessionKey, callId, signal: turn.signal }, request),
    progress: (text) => live({ type: 'status', text }),
  });
  await runCalls(calls, {
    facts,
    registry: ports.registry,
    hooks: ports.hooks,
    live,
    context,
    append: async (...drafts) => {
      // A process that is being stopped leaves its calls open: their outcome is told at the next start.
      if (turn.signal.aborted && !(turn.signal.reason instanceof EndTurn)) throw turn.signal.reason;
      await session.append(drafts);
    },
    slot: (task) => ports.slots.run(task, turn.signal),
    interrupted: async (callId, name) => {
      if (target === undefined) return;
      const text = `I was stopped while \`${name}\` was running, so I can not tell whether it took effect. I will not run it again by myself.`;
      await ports.bus.publishOutbound(
        outboundTo(
          target,
          { id: `${callId}:interrupted`, kind: 'notice', text, turnId: facts.turnId },
          ports.clock.now(),
        ),
      );
    },
  });
}

function lastCallNote(turnId: string): EntryDraft {
  const text =
    '<context>\nThe limit of steps for this task is reached: no more tools. Give your best answer with what you know, and say what is left undone.\n</context>';
  return { kind: 'message', role: 'user', turn: turnId, sources: [], content: [{ type: 'text', text }] };
}
