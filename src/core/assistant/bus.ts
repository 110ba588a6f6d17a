import { HookRunner, type HookSet } from '../agent/hooks/hooks.ts';
import { unifiedSession } from '../agent/joining.ts';
import { MessageBus, type DurableOutbox } from '../bus/bus.ts';
import type { App } from '../app.ts';
import { errorMessage } from '../util/errors.ts';

/** Creates the hook runner with the hooks of running plugins, then the given ones. */
export function openHooks({ log, clock, plugins }: App, given: readonly HookSet[]): HookRunner {
  const hooks = new HookRunner(log, clock);
  hooks.setPlugins([...plugins.running, ...plugins.missingGuards]);
  for (const set of given) hooks.register(set.owner, set.hooks, { guard: set.guard ?? false });
  return hooks;
}

/**
 * The bus over the journal: what goes out is free of secrets, and a hook may say which session a message belongs to.
 */
export function openBus({ config, newId, log, redact, journal, hooks }: App): MessageBus {
  return new MessageBus({
    ...journal,
    outbox: cleanOutbox(journal.outbox, redact),
    newId,
    onListenerFailure: (error) =>
      log.warn('live events: a listener failed and gets no more of them', { reason: errorMessage(error) }),
    sessionKey: (draft) => hooks.session(draft) ?? (config.session.unified ? unifiedSession(draft) : undefined),
  });
}

/** The same outbox: what is put into it is free of secrets. */
function cleanOutbox(outbox: DurableOutbox, redact: (text: string) => string): DurableOutbox {
  return {
    enqueue: (messages) => outbox.enqueue(messages.map((message) => ({ ...message, text: redact(message.text) }))),
    page: (after, limit) => outbox.page(after, limit),
    onQueued: (listener) => outbox.onQueued(listener),
  };
}
