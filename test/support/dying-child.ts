import { flushCompileCache } from 'node:module';
import type { Hooks } from '../../src/core/agent/hooks/hooks.ts';
import { createAssistant } from '../../src/app.ts';
import { MessageBus } from '../../src/core/bus/bus.ts';
import { Session } from '../../src/core/session/session.ts';

/**
 * The real assistant in a process of its own that kills itself at a stage. Arguments: the home; `model`: before each
 * model call; `poison`: before one that answers the word "poison"; `dispatch`: when an answer with that word is about to be queued;
 * `reset`: when /new is about to change the session; `retract`, `retracted`: before and after a turn is taken back;
 * `anchor`: when /tape handoff is about to change the session; `accept1`, `accept2`: after so many homes have accepted
 * messages; `never`.
 */
const [home, stage] = process.argv.slice(2);
const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('still alive');
};

const append: Session['append'] = Reflect.get(Session.prototype, 'append');
Session.prototype.append = async function dying(drafts, durability) {
  const has = (kind: string): boolean => drafts.some((draft) => draft.kind === kind);
  if (stage !== undefined && ['reset', 'retract', 'anchor'].includes(stage) && has(stage)) die();
  const written = await append.call(this, drafts, durability);
  return stage === 'retracted' && has('retract') ? die() : written;
};

const publish: MessageBus['publishRead'] = Reflect.get(MessageBus.prototype, 'publishRead');
let accepted = 0;
MessageBus.prototype.publishRead = async function dying(drafts, cursors) {
  const results = await publish.call(this, drafts, cursors);
  if (drafts.some(({ origin }) => origin === 'user')) accepted += 1;
  return stage === `accept${accepted}` ? die() : results;
};

/** Dies where a hook is called, if what it is called with has the word that kills. */
const dieAt = (words: unknown): undefined => (JSON.stringify(words).includes(POISON) ? die() : undefined);
const POISON = 'poison';
const HOOKS: Readonly<Record<string, Hooks>> = {
  model: { beforeModel: die },
  poison: { beforeModel: (_, request) => dieAt(request.messages.at(-1)) },
  dispatch: { dispatch: (_, message) => dieAt(message.text) },
};

const assistant = await createAssistant({
  ...(home === undefined ? {} : { home }),
  serve: 'gateway',
  port: 0,
  hooks: [{ owner: 'dying', hooks: HOOKS[stage ?? ''] ?? {} }],
});
// Nothing is kept of it otherwise, because it will be killed.
flushCompileCache();
process.once('SIGTERM', () => {
  void assistant[Symbol.asyncDispose]().then(() => process.exit(0));
});
