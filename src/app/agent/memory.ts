import type { Questions } from '../../agent/questions/questions.ts';
import { Consolidation } from '../../agent/consolidation/consolidation.ts';
import type { Budget } from '../../agent/context/budget.ts';
import type { CallBounds } from '../../agent/context/call-bounds.ts';
import { memCommand } from '../../agent/commands/mem.ts';
import { memoryCommand } from '../../agent/commands/memory.ts';
import { soulCommand } from '../../agent/commands/soul.ts';
import type { ChatCommand } from '../../agent/commands/command.ts';
import type { ContextWindow } from '../../agent/context/fit.ts';
import { outboundTo } from '../../agent/outgoing.ts';
import type { StorePorts } from '../../agent/ports.ts';
import { SideCalls } from '../../agent/side-calls/side-calls.ts';
import { createPersonaFile } from '../../agent/commands/persona-file.ts';
import { ToolChoices } from '../../agent/side-calls/structured.ts';
import type { MessageBus } from '../../bus/bus.ts';
import { previewOf } from '../../tools/files/change-preview.ts';
import type { Base } from '../base.ts';
import { createEmbedder } from '../memory/embedder.ts';
import { withoutSecrets } from './clean-model.ts';
import type { Models } from './models.ts';
import { forgetThen, lookFor } from '../storage/forgetting.ts';
import type { Stores } from '../storage/stores.ts';

export interface MemoryParts {
  readonly stores: Stores;
  readonly models: Models;
  readonly bus: MessageBus;
  readonly bounds: CallBounds;
  readonly budget: Budget;
  readonly context: ContextWindow;
  readonly questions: Questions;
  /** Aborts when the process ends. */
  readonly closing: AbortSignal;
  /** Ends this process and starts another; undefined: nothing would. */
  readonly restart: (() => void) | undefined;
}

export interface Memory {
  readonly consolidation: Consolidation;
  /** `consolidation` as turns call it; after a turn also the search index is brought up to date. */
  readonly aroundTurns: StorePorts['consolidation'];
  /** The chat commands /mem, /memory and /soul. */
  readonly commands: readonly ChatCommand[];
}

/** Builds the consolidation of conversations into memory, and the commands that use it. */
export function createMemory(base: Base, parts: MemoryParts): Memory {
  const { config, clock, log, newId, redact } = base;
  const { stores, models, bus, bounds, budget, context, questions, closing } = parts;
  const { journal, sessions, memory } = stores;
  const sessionModel = (sessionKey: string): ReturnType<Models['resolve']> =>
    withoutSecrets(models.resolve(journal.settings.model(sessionKey)), redact);
  const calls = new SideCalls({ budget, prepare: (name) => bounds.warm(name) });
  const consolidation = new Consolidation({
    sessions,
    memory,
    calls,
    sessionModel,
    context,
    clock,
    log,
    newId,
    consolidations: journal.consolidations,
    choices: new ToolChoices(),
    confirm: async ({ id, session, why, before, after }, signal) => {
      const target = journal.consolidations.lastMessage(session);
      const answer = await questions.approve(
        { sessionKey: session, callId: id, signal, target },
        {
          title: 'Rewrite MEMORY.md',
          detail: previewOf(before, after),
          reason:
            why === 'shrinks'
              ? 'It would lose more than half.'
              : 'It comes from a conversation that contains text by other people or from the web.',
        },
      );
      return answer.approved;
    },
    notify: async (sessionKey, { id, text }) => {
      const last = journal.consolidations.lastMessage(sessionKey);
      if (last !== undefined) await bus.publishOutbound(outboundTo(last, { id, kind: 'notice', text }, clock.now()));
    },
    timezone: config.agent.timezone,
    consolidateAt: config.memory.consolidateAt,
  });
  stores.search.useMeaning(
    createEmbedder(base, { budget, ledger: journal.usage, prepare: (name) => bounds.warm(name) }),
  );
  const soul = createPersonaFile({
    file: stores.files['SOUL.md'],
    calls,
    sessionModel,
    newId,
    clock,
    signal: closing,
  });
  return {
    consolidation,
    aroundTurns: {
      beforeTurn: (request) => consolidation.beforeTurn(request),
      afterTurn: (request) => {
        consolidation.afterTurn(request);
        stores.search.scheduleSync();
      },
    },
    commands: [
      memCommand({ consolidate: (message, text, stop) => consolidation.mem(message, redact(text), stop) }),
      memoryCommand({
        timezone: config.agent.timezone,
        facts: () => memory.facts(),
        log: () => memory.log(),
        restore: (id) => memory.restore(id),
        changed: () => stores.search.scheduleSync(),
        lookFor: (words) => lookFor(words, base),
        confirm: ({ message, turnId, signal }, question) =>
          questions.approve(
            { sessionKey: message.sessionKey, callId: `${turnId}.1`, turnId, signal, target: message },
            { ...question, reason: 'Nothing is erased without your yes.' },
          ),
        forget: (words, asked) => forgetThen(parts.restart, base, { words, asked }),
      }),
      soulCommand(soul),
    ],
  };
}
