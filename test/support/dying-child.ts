import { flushCompileCache } from 'node:module';
import { createAssistant } from '../../src/app.ts';
import { Session } from '../../src/session/session.ts';

/**
 * The real assistant in a process of its own that kills itself at a stage. Arguments: the home; `model`: before each
 * model call; `reset`: when /new is about to change the session; `never`.
 */
const [home, stage] = process.argv.slice(2);
const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('still alive');
};

const append: Session['append'] = Reflect.get(Session.prototype, 'append');
Session.prototype.append = function dying(drafts) {
  return stage === 'reset' && drafts.some(({ kind }) => kind === 'reset') ? die() : append.call(this, drafts);
};

const assistant = await createAssistant({
  ...(home === undefined ? {} : { home }),
  serve: 'gateway',
  port: 0,
  hooks: stage === 'model' ? [{ owner: 'dying', hooks: { beforeModel: die } }] : [],
});
// Nothing is kept of it otherwise, because it will be killed.
flushCompileCache();
process.once('SIGTERM', () => {
  void assistant[Symbol.asyncDispose]().then(() => process.exit(0));
});
