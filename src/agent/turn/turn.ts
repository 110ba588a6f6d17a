import { withinImageBudget } from '../../providers/images.ts';
import type { ModelRequest } from '../../providers/provider.ts';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import type { ToolContext } from '../../tools/tool.ts';
import { shortRound } from '../../util/wake.ts';
import { changedModel, modelsOf } from './answering-model.ts';
import { recordCall } from './call-record.ts';
import { afterFailure, lastCallNote, ownNote } from './completion.ts';
import { withLoopWarning } from './loop-guard.ts';
import { earlierFetches } from './earlier-fetches.ts';
import { givenTexts } from './provenance.ts';
import { askModel, assistantContent, type ModelOutcome } from './model-call.ts';
import { chatOf, outboundTo } from '../outgoing.ts';
import { subagentOf, withheldFrom } from '../subagents/task.ts';
import { callCount, iterationsOf, nextStep, type PendingCall } from './steps.ts';
import { unfinishedText } from './answer-text.ts';
import { runCalls } from './tool-calls.ts';
import { endCut, endDraft, EndTurn, partialOf } from './end.ts';
import type { Turn, TurnPorts } from './turn-ports.ts';
import { beginTurn, hearMore, isCorrected } from './turn-messages.ts';

/**
 * Runs a turn until it is closed on the tape: model, tools, results, model, until done. Works from the tape alone, so
 * the same call begins a fresh turn and continues one that a crash cut off at any step. Throws only when the tape or
 * the journal cannot be written, or when the process is being stopped; then the turn stays open and is continued
 * at the next start.
 */
export async function runTurn(turn: Turn, ports: TurnPorts): Promise<void> {
  const { session, facts, signal } = turn;
  for (;;) {
    const entries = session.turn(facts.turnId);
    const step = nextStep(entries, ports.settings.maxIterations);
    if (step.type === 'ended') return;
    if (signal.aborted) {
      if (!(signal.reason instanceof EndTurn)) throw signal.reason;
      await endCut(turn, signal.reason);
      return;
    }
    switch (step.type) {
      case 'begin':
        await beginTurn(turn, ports);
        break;
      case 'run-calls':
        await runTools(turn, ports, step.calls);
        break;
      case 'finish':
        await session.append([endDraft(turn, step.outcome, step.answer, entries)]);
        break;
      case 'say':
        await session.append([ownNote(facts.turnId, step.text)]);
        break;
      case 'ask-model':
        await think(turn, ports);
        break;
    }
  }
}

async function think(turn: Turn, ports: TurnPorts): Promise<void> {
  const { session, facts, live, chosen } = turn;
  await shortRound();
  await hearMore(turn, ports);
  const entries = session.turn(facts.turnId);
  const last = iterationsOf(entries) >= ports.settings.maxIterations - 1;
  const note = last ? lastCallNote(facts.turnId, entries) : null;
  if (note !== null) await session.append([note]);
  const bounds = await ports.bounds.before(turn);
  if ('refused' in bounds) {
    await session.append([endDraft(turn, 'failed', bounds.refused)]);
    return;
  }
  const drafted = requestOf(turn, ports, { last, ...bounds });
  const request = await ports.hooks.decide('beforeModel', drafted, (hooks, value) => hooks.beforeModel?.(facts, value));
  if ('denied' in request) {
    await session.append([endDraft(turn, 'failed', ports.redact(request.denied))]);
    return;
  }
  live({ type: 'typing' });
  ports.bounds.sending(turn, request.value);
  const call = recordCall(
    {
      session,
      turnId: facts.turnId,
      asked: { provider: chosen.providerName, model: chosen.model },
      request: request.value,
      changed: request.value.messages !== drafted.messages,
    },
    ports,
  );
  const asked = {
    provider: chosen.provider,
    attempts: call.attempts,
    request: request.value,
    signal: turn.signal,
    live,
    redact: ports.redact,
    before: unfinishedText(entries),
  };
  // What was corrected while it waited for a slot is read first.
  const ask = async (): Promise<ModelOutcome | null> => ((await isCorrected(turn)) ? null : await askModel(asked));
  const outcome = await ports.slots.run(ask, turn.signal);
  if (outcome === null) return;
  await shortRound();
  await record(turn, ports, { outcome, last, call: await call.entry() });
}

/** Writes down what the model said, with the end of the turn in the same append when it is the last word. */
async function record(
  turn: Turn,
  ports: TurnPorts,
  { outcome, last, call }: { readonly outcome: ModelOutcome; readonly last: boolean; readonly call: EntryDraft },
): Promise<void> {
  const { session, facts, chosen } = turn;
  const { maxIterations } = ports.settings;
  const entries = session.turn(facts.turnId);
  if (outcome.type === 'error') {
    if (turn.signal.aborted) {
      // Of a process that is being stopped nothing is written any more.
      if (turn.signal.reason instanceof EndTurn) {
        await session.append([call], 'lazy');
        await endCut(turn, turn.signal.reason, outcome.shown);
      }
      return;
    }
    if (outcome.kind === 'context-overflow') {
      await session.append([call], 'lazy');
      if (await ports.bounds.tighten(turn)) return;
    }
    ports.log.warn('model: call failed', { turn: facts.turnId, kind: outcome.kind, reason: outcome.message });
    const model = `${chosen.providerName}/${chosen.model}`;
    const end = afterFailure(entries, outcome, { model, last, maxIterations });
    const partial = end.outcome === 'failed' ? outcome.shown : '';
    await session.append([
      ...(outcome.kind === 'context-overflow' ? [] : [call]),
      { ...endDraft(turn, end.outcome, ports.redact(end.answer), entries), ...partialOf(partial) },
    ]);
    return;
  }
  const { redact } = ports;
  const content = assistantContent(outcome.response, {
    turnId: facts.turnId,
    callsBefore: callCount(entries),
    redact,
    before: unfinishedText(entries),
    withoutCalls: last,
  });
  const by = outcome.response.answeredBy ?? { provider: chosen.providerName, model: chosen.model };
  const said: EntryDraft = {
    kind: 'message',
    role: 'assistant',
    turn: facts.turnId,
    content: [...content],
    ...by,
    stopReason: outcome.stopReason,
    usage: outcome.response.usage,
  };
  await ports.bounds.answered(turn, by, outcome.response.usage);
  const all = [...entries, ...asEntries(said)];
  const next = nextStep(all, maxIterations);
  if (next.type !== 'finish') {
    await session.append([call, said], 'lazy');
    return;
  }
  const { note } = outcome.response;
  const answer = note === undefined ? next.answer : `${next.answer}\n\n_${note}_`;
  await session.append([call, said, endDraft(turn, next.outcome, redact(answer), all)]);
}

function asEntries(draft: EntryDraft): readonly TapeEntry[] {
  return [{ ...draft, v: 1, id: '', at: 0 }];
}

function requestOf(
  turn: Turn,
  ports: TurnPorts,
  { last, maxOutputTokens }: { readonly last: boolean; readonly maxOutputTokens: number },
): ModelRequest {
  const { settings } = ports;
  const { tools } = turn;
  const entries = turn.session.turn(turn.facts.turnId);
  return {
    model: turn.chosen.model,
    system: turn.system,
    messages: withinImageBudget(turn.session.history().messages.map(({ message }) => message)),
    tools,
    toolChoice: last && tools.length > 0 ? 'none' : 'auto',
    maxOutputTokens,
    reasoning: changedModel(entries, turn.chosen) ? 'off' : settings.reasoning,
    turnModels: modelsOf(entries),
    ...(settings.temperature === null ? {} : { temperature: settings.temperature }),
  };
}

async function runTools(turn: Turn, ports: TurnPorts, calls: readonly PendingCall[]): Promise<void> {
  const { session, facts, live } = turn;
  const target = facts.messages.at(-1);
  const history = session.history();
  const [skills, folders] = await Promise.all([
    ports.skills.active(session.turn(facts.turnId)),
    ports.skills.folders(),
  ]);
  const source = history.source ?? (skills.foreign ? 'a skill by another author' : null);
  const taint = {
    untrusted: history.untrusted || skills.foreign,
    private: history.private || turn.isOwners,
    ...(source === null ? {} : { source }),
  };
  const task = subagentOf(target);
  // What a subagent may read of the session that asked, that session could read too.
  const readers = [facts.sessionKey, ...(task === null ? [] : [task.session])];
  const ownFolders = readers.flatMap((key) => [ports.spill.folder(key), ports.media.folder(key)]);
  const asking = task?.session ?? facts.sessionKey;
  const context = (callId: string): ToolContext => ({
    sessionKey: facts.sessionKey,
    turnId: facts.turnId,
    callId,
    messageId: target?.id ?? '',
    workingDirectory: ports.settings.workspace,
    readRoots: [...ownFolders, ...folders],
    ...(task === null ? {} : { withheld: (tool: string) => withheldFrom(task, tool) }),
    skills,
    signal: turn.signal,
    role: turn.role,
    ...(target === undefined
      ? {}
      : { chatType: target.chatType, who: `${target.channel}:${target.sender.id}`, chat: chatOf(target) }),
    origin: target?.origin ?? 'system',
    taint,
    given: () => givenTexts(session),
    fetches: () => earlierFetches(session, callId),
    approve: async (request) => {
      using _paused = turn.pauseDeadline();
      const { turnId } = facts;
      // A question is found again by its call's id, so the call has to outlive it.
      await session.append([], 'durable');
      return await ports.questions.approve(
        { sessionKey: asking, turnId, callId, signal: turn.signal, target },
        request,
      );
    },
    ask: async (question) => {
      using _paused = turn.pauseDeadline();
      const { sessionKey, turnId } = facts;
      await session.append([], 'durable');
      return await ports.questions.ask({ sessionKey, turnId, callId, signal: turn.signal, target }, question);
    },
    progress: (text) => live({ type: 'status', text }),
  });
  await runCalls(calls, {
    facts,
    registry: ports.registry,
    hooks: ports.hooks,
    live,
    media: ports.media,
    context,
    append: async (drafts, durability) => {
      // A process that is being stopped leaves its calls open: their outcome is told at the next start.
      if (turn.signal.aborted && !(turn.signal.reason instanceof EndTurn)) throw turn.signal.reason;
      const entries = session.turn(facts.turnId);
      await session.append(
        drafts.map((draft) => withLoopWarning(draft, entries)),
        durability,
      );
    },
    slot: (task) => ports.slots.run(task, turn.signal),
    interrupted: async (callId, name) => {
      if (target === undefined) return;
      const text = `I was stopped while \`${name}\` was running, so I cannot tell whether it took effect. I will not run it again by myself.`;
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
