import type { App } from '../../app.ts';
import { runFactsOf } from '../../bus/run.ts';
import { refusesContent } from '../../providers/content-refusals.ts';
import { withinImageBudget } from '../../providers/images.ts';
import type { ModelRequest } from '../../providers/provider.ts';
import type { Redact } from '../../security/redact/redact.ts';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import { shortRound } from '../../util/wake.ts';
import { hashOfText } from '../../storage/prompt-parts.ts';
import { noUsage } from '../../util/token-usage.ts';
import { apiFactsOf } from '../../bus/api.ts';
import {
  afterAcceptance,
  afterError,
  endSearch,
  endsInRefusal,
  isTrial,
  retractOwn,
  type RefusalFacts,
} from './content-refusal.ts';
import { OWN_LEFT_OUT, refusalNote } from './refusal-words.ts';
import { changedModel, modelsOf } from './answering-model.ts';
import { recordCall } from './call-record.ts';
import { withRunModel } from '../hooks/run-model.ts';
import { afterFailure, lastCallNote, ownNote } from './completion.ts';
import { withLoopWarning } from './loop-guard.ts';
import { askModel, assistantContent, type ModelOutcome } from './model-call.ts';
import type { FailedAttempt } from '../context/call-bounds.ts';
import { outboundTo } from '../outgoing.ts';
import { callCount, iterationsOf, nextStep, type PendingCall } from './steps.ts';
import { stripReasoning } from './strip-reasoning.ts';
import { toolContexts } from './tool-contexts.ts';
import { unfinishedText } from './answer-text.ts';
import { answerOf, joined, renderContent, renderEnd, renderer, withAnswer, withoutText } from './shown-text.ts';
import { runCalls } from './tool-calls.ts';
import { endCut, endDraft, EndTurn, partialOf, type Finish } from './end.ts';
import type { Turn } from './current-turn.ts';
import { beginTurn, addWaitingMessages, isCorrected } from './turn-messages.ts';

/**
 * Runs a turn until it is ended on the tape: model, tools, results, model, until done. Works from the tape alone, so the
 * same function begins a new turn and continues one after a crash. Rejects when the tape or the journal cannot be written,
 * when the process stops (the turn stays open for the next start), or with `EndTurn` when a stop came during a wait for a slot.
 */
export async function runTurn(turn: Turn, app: App): Promise<void> {
  const { session, facts, signal } = turn;
  for (;;) {
    const entries = session.turn(facts.turnId);
    const step = nextStep(entries, { maxIterations: app.config.agent.maxIterations, ...turn.origin });
    if (step.type === 'ended') return;
    if (signal.aborted) {
      if (!(signal.reason instanceof EndTurn)) throw signal.reason;
      await session.append(endSearch(refusalFacts(turn)), 'lazy');
      await endCut(turn, signal.reason, { finish: finisher(turn, app) });
      return;
    }
    switch (step.type) {
      case 'begin':
        await beginTurn(turn, app);
        break;
      case 'run-calls':
        await runTools(turn, app, step.calls);
        break;
      case 'finish':
        await session.append([await finisher(turn, app)(endDraft(turn, step, entries))], 'with-journal');
        break;
      case 'say':
        await session.append([ownNote(facts.turnId, step.text)]);
        break;
      case 'ask-model':
        try {
          await think(turn, app);
        } finally {
          app.bounds.over(turn);
        }
        break;
    }
  }
}

/** One model call: new messages join the turn, the model is asked, its answer is recorded. */
async function think(turn: Turn, app: App): Promise<void> {
  const { session, facts, live, chosen } = turn;
  const { bounds, hooks, redact, clock, config } = app;
  const finish = finisher(turn, app);
  await shortRound();
  await addWaitingMessages(turn, app);
  const entries = session.turn(facts.turnId);
  const last = iterationsOf(entries) >= config.agent.maxIterations - 1;
  const note = last ? lastCallNote(facts.turnId, entries) : null;
  if (note !== null) await session.append([note]);
  const allowed = await bounds.before(turn);
  if ('refused' in allowed) {
    const end = endDraft(turn, { outcome: 'failed', answer: allowed.refused, errorKind: 'limit' });
    await session.append([...endSearch(refusalFacts(turn)), await finish(end)], 'with-journal');
    return;
  }
  const drafted = requestOf(turn, { last, ...allowed }, app);
  const request = await hooks.decide('beforeModel', drafted, (hook, value) => hook.beforeModel?.(facts, value));
  if ('denied' in request) {
    const answer = redact(request.denied);
    await session.append(
      [
        ...endSearch(refusalFacts(turn)),
        await finish(endDraft(turn, { outcome: 'failed', answer, errorKind: 'denied' })),
      ],
      'with-journal',
    );
    return;
  }
  live({ type: 'typing' });
  bounds.sending(turn, request.value);
  const call = recordCall(
    {
      session,
      turnId: facts.turnId,
      asked: { provider: chosen.providerName, model: chosen.model },
      request: request.value,
      changed: request.value.messages !== drafted.messages,
    },
    app,
  );
  const failed: FailedAttempt[] = [];
  const asked = {
    provider: withRunModel(chosen.provider, facts, hooks),
    attempts: call.attempts,
    request: request.value,
    signal: turn.signal,
    // A text that a hook may still change is shown when the hook has seen the whole of it; one that does not count, never.
    live: hooks.has('render') || afterAcceptance(refusalFacts(turn)) !== null ? withoutText(live) : live,
    redact,
    failed: (attempt: FailedAttempt) => void failed.push(attempt),
    before: unfinishedText(entries),
  };
  // A message that was edited during the wait for a slot is read first: null, and the next step asks again.
  const waitedSince = clock.monotonic();
  const ask = async (): Promise<ModelOutcome | null> => {
    call.attempts.waitedForPlace(clock.monotonic() - waitedSince);
    return (await isCorrected(turn)) ? null : await askModel(asked);
  };
  const outcome = await app.slots.run(ask, turn.signal, facts.turnId);
  for (const attempt of failed) await bounds.failed(turn, attempt);
  if (outcome === null) return;
  await shortRound();
  const cut = cutAgain(outcome, turn, redact);
  if (cut !== null) {
    call.attempts.failed({ ...cut.error, reason: cut.error.message });
    await bounds.failed(turn, cut);
  }
  await record(turn, app, { outcome: cut?.error ?? outcome, last, call: await call.entry() });
}

/**
 * An answer that a provider cut short because of its content, as an error, if more than this turn's message is to blame: the
 * answer of the turn before ended in the same way, or something was left out of this request already. Null for any other outcome.
 */
function cutAgain(
  outcome: ModelOutcome,
  { session, facts, chosen }: Turn,
  redact: Redact,
): (FailedAttempt & { readonly error: Extract<ModelOutcome, { type: 'error' }> }) | null {
  if (outcome.type !== 'end' || outcome.stopReason !== 'refusal') return null;
  if (!endsInRefusal(session.window, facts.turnId) && !isTrial(session.turn(facts.turnId))) return null;
  const by = outcome.response.answeredBy ?? { provider: chosen.providerName, model: chosen.model };
  const text = outcome.response.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const message = `${by.provider} refused to go on because of its content rules.`;
  const error = {
    type: 'error',
    kind: 'refusal',
    retryable: false,
    message,
    shown: redact(stripReasoning(text)),
  } as const;
  return { by, usage: outcome.response.usage ?? noUsage, error };
}

/** Appends the outcome of a model call to the tape; when the turn is done, its end in the same append. */
async function record(
  turn: Turn,
  app: App,
  { outcome, last, call }: { readonly outcome: ModelOutcome; readonly last: boolean; readonly call: EntryDraft },
): Promise<void> {
  const { session, facts, chosen } = turn;
  const { bounds, redact, log } = app;
  const { maxIterations, timezone } = app.config.agent;
  const entries = session.turn(facts.turnId);
  const finish = finisher(turn, app);
  const render = renderer(facts, app);
  if (outcome.type === 'error') {
    const shown = render === null ? outcome.shown : '';
    if (turn.signal.aborted) {
      // When the process stops, nothing is written: the next start asks the model again.
      if (turn.signal.reason instanceof EndTurn) {
        await session.append([call], 'lazy');
        await endCut(turn, turn.signal.reason, { finish, partial: shown });
      }
      return;
    }
    if (outcome.kind === 'context-overflow') {
      await session.append([call], 'lazy');
      if (await bounds.tighten(turn, outcome)) return;
    }
    const facts = refusalFacts(turn);
    const trial = afterError(outcome, facts);
    if (trial !== null) {
      log.info('model: request refused; looking for the cause', { turn: turn.facts.turnId, reason: outcome.message });
      await session.append([call, trial]);
      return;
    }
    const search = refusesContent(outcome) === 'surely' ? [retractOwn(facts)] : endSearch(facts);
    log.warn('model: call failed', { turn: facts.turnId, kind: outcome.kind, reason: outcome.message });
    const by = `${chosen.providerName}/${chosen.model}`;
    const failed = outcome.about === 'image' ? { ...outcome, message: `${outcome.message} ${OWN_LEFT_OUT}` } : outcome;
    const end = afterFailure(entries, failed, {
      model: by,
      now: app.clock.now(),
      timezone,
      last,
      maxIterations,
      hasReader: turn.origin.hasReader,
    });
    const partial = end.outcome === 'failed' ? shown : '';
    await session.append([
      ...(outcome.kind === 'context-overflow' ? [] : [call]),
      ...search,
      { ...(await finish(endDraft(turn, { ...end, answer: redact(end.answer) }, entries))), ...partialOf(partial) },
    ]);
    return;
  }
  const before = unfinishedText(entries);
  const isCut = outcome.stopReason === 'refusal';
  const content = assistantContent(outcome.response, {
    turnId: facts.turnId,
    callsBefore: callCount(entries),
    redact,
    before,
    // A call that was cut off isn't run.
    withoutCalls: last || isCut,
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
  await bounds.answered(turn, by, outcome.response.usage);
  const narrower = afterAcceptance(refusalFacts(turn));
  if (narrower !== null) {
    await session.append([call, narrower]);
    return;
  }
  const all = [...entries, ...asEntries(said)];
  const next = nextStep(all, { maxIterations, ...turn.origin });
  if (next.type !== 'finish') {
    const shown = render === null ? content : await renderContent(content, before, render);
    if (render !== null) showRendered(turn, before + joined(shown));
    await session.append([call, { ...said, content: [...shown] }], 'lazy');
    return;
  }
  const search = isCut ? [retractOwn(refusalFacts(turn))] : [];
  const named = turn.isOwners;
  const left = isCut ? `${by.provider}/${by.model} refused to go on because of its content rules. ${OWN_LEFT_OUT}` : '';
  const refusal = isCut ? '' : refusalNote(entries, { named });
  const notes = [outcome.response.note ?? '', bounds.loss(turn) ?? '', left, refusal].filter((text) => text !== '');
  const answer = [next.answer, ...(isJson(turn) ? [] : notes.map((note) => `_${note}_`))].join('\n\n');
  const end = endDraft(turn, { ...next, answer: redact(answer) }, all);
  if (render === null || next.outcome === 'failed') {
    const shown = render === null ? content : await renderContent(content, before, render);
    await session.append([call, ...search, { ...said, content: [...shown] }, await finish(end)], 'with-journal');
    return;
  }
  const shown = await renderEnd(end, { content, before }, render);
  showRendered(turn, answerOf(shown.end));
  await session.append([call, ...search, { ...said, content: [...shown.content] }, shown.end], 'with-journal');
}

/** Shows a text that the hooks have seen in the live view. */
function showRendered({ live }: Turn, text: string): void {
  if (text.trim() !== '') live({ type: 'text', text });
}

/** What hooks make of the end of a turn. */
function finisher({ facts }: Turn, app: App): Finish {
  const { hooks, redact } = app;
  const render = renderer(facts, app);
  return async (end) => {
    const failed = end.kind === 'turn-end' && end.outcome === 'failed';
    const failure = { sentence: answerOf(end) };
    const sentence = failed ? await hooks.first('onError', (hook) => hook.onError?.(facts, failure)) : undefined;
    const told = sentence === undefined ? end : withAnswer(end, redact(sentence));
    return render === null ? told : withAnswer(told, await render(answerOf(told)));
  };
}

function asEntries(draft: EntryDraft): readonly TapeEntry[] {
  return [{ ...draft, v: 1, id: '', at: 0 }];
}

function requestOf(
  turn: Turn,
  { last, maxOutputTokens }: { readonly last: boolean; readonly maxOutputTokens: number },
  { config }: App,
): ModelRequest {
  const { reasoning, temperature } = config.agent;
  const { tools } = turn;
  const entries = turn.session.turn(turn.facts.turnId);
  const history = turn.session.history();
  const { retries } = runFactsOf(turn.facts.messages.at(-1));
  return {
    model: turn.chosen.model,
    system: withoutRefusedLayers(turn.system, history.refusedLayers),
    messages: withinImageBudget(history.messages.map(({ message }) => message)),
    tools,
    toolChoice: last && tools.length > 0 ? 'none' : 'auto',
    maxOutputTokens,
    reasoning: changedModel(entries, turn.chosen) ? 'off' : reasoning,
    turnModels: modelsOf(entries),
    ...(isTrial(entries) ? { isTrial: true } : {}),
    ...(retries === null ? {} : { retries }),
    ...(temperature === null ? {} : { temperature }),
  };
}

function withoutRefusedLayers(system: readonly string[], refused: ReadonlySet<string>): readonly string[] {
  return refused.size === 0 ? system : system.filter((text) => !refused.has(hashOfText(text)));
}

function refusalFacts({ facts, session, layers, system, chosen }: Turn): RefusalFacts {
  const names = new Map(layers.map(({ name, text }) => [text, name]));
  return {
    turnId: facts.turnId,
    entries: session.turn(facts.turnId),
    window: session.window,
    summary: session.history().summary?.entryId ?? null,
    // A layer that a plugin changed or added has no name.
    layers: system.map((text) => ({ name: names.get(text) ?? '', text })),
    model: { provider: chosen.providerName, model: chosen.model },
  };
}

function isJson({ facts }: Turn): boolean {
  return apiFactsOf(facts.messages.at(-1))?.json === true;
}

async function runTools(turn: Turn, app: App, calls: readonly PendingCall[]): Promise<void> {
  const { session, facts, live } = turn;
  await runCalls(calls, {
    app,
    facts,
    live,
    context: await toolContexts(turn, app),
    append: async (drafts, durability) => {
      // When the process stops, calls stay without a result: the next start reports that their outcome is unknown.
      if (turn.signal.aborted && !(turn.signal.reason instanceof EndTurn)) throw turn.signal.reason;
      const entries = session.turn(facts.turnId);
      await session.append(
        drafts.map((draft) => withLoopWarning(draft, entries)),
        durability,
      );
    },
    slot: (task) => app.slots.run(task, turn.signal, facts.turnId),
    interrupted: async (callId, name) => {
      const target = facts.messages.at(-1);
      if (target === undefined) return;
      const text = `I was stopped while \`${name}\` was running, so I cannot tell whether it took effect. I will not run it again by myself.`;
      const notice = { id: `${callId}:interrupted`, kind: 'notice', text, turnId: facts.turnId } as const;
      await app.bus.publishOutbound(outboundTo(target, notice, app.clock.now()));
    },
  });
}
