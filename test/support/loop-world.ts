import { join } from 'node:path';
import type { ChatCommand } from '../../src/core/agent/commands/command.ts';
import { CommandTable } from '../../src/core/agent/commands/table.ts';
import { HookRunner, type Hooks } from '../../src/core/agent/hooks/hooks.ts';
import type { App } from '../../src/core/app.ts';
import { AgentLoop } from '../../src/core/agent/loop.ts';
import { readAnswer } from '../../src/core/agent/questions/answers.ts';
import { Questions } from '../../src/core/agent/questions/questions.ts';
import { MessageBus } from '../../src/core/bus/bus.ts';
import type { Config } from '../../src/core/config/schema.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { Sessions } from '../../src/core/session/sessions.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { Slots } from '../../src/core/util/slots.ts';
import { appWith } from './app-with.ts';
import { PROGRAM } from './extensions.ts';
import { storageHealth } from './healthy-storage.ts';
import { tempFolder } from './temp.ts';
import { ORIGINS } from './extensions.ts';

/** A loop that runs over a real journal and real sessions; disposing stops it. */
export interface LoopWorld extends AsyncDisposable {
  readonly loop: AgentLoop;
  readonly bus: MessageBus;
  readonly journal: Journal;
}

export interface LoopWorldOptions {
  /** What decides whether a message gets a turn. */
  readonly admit: NonNullable<Hooks['admit']>;
  /** @default none */
  readonly commands?: readonly ChatCommand[];
  /** What runs a turn. @default every turn fails */
  readonly runner?: App['turns'];
}

const NO_TURNS: App['turns'] = {
  running: [],
  stop: () => false,
  run: async () => {
    throw new Error('this loop has nothing that runs turns');
  },
};

/** Starts a loop; the channels, the model and the tools behind it are not there. */
export async function startLoop({ admit, commands = [], runner = NO_TURNS }: LoopWorldOptions): Promise<LoopWorld> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const clock = systemClock;
  const log = silentLog;
  const newId = createIds(clock, systemRandom);
  const path = join(folder.path, 'state.db');
  const journal = stack.use(await openJournal({ path, backupPath: null, clock, newId, interpret: readAnswer }));
  const sessions = new Sessions({
    directory: join(folder.path, 'sessions'),
    quarantine: join(folder.path, 'quarantine'),
    clock,
    newId,
    log,
  });
  stack.defer(() => sessions.close());
  const bus = new MessageBus({ inbox: journal.inbox, outbox: journal.outbox, newId });
  const hooks = new HookRunner(log);
  hooks.register('test', { admit });
  const app = appWith({
    program: PROGRAM,
    clock,
    log,
    newId,
    random: systemRandom,
    redact: (text) => text,
    storage: storageHealth(clock),
    config: PROGRAM.schema.parse({}) as Config,
    journal,
    sessions,
    bus,
    slots: new Slots(4),
    channels: {
      manager: { renderParts: () => [], outlet: () => 'unknown' },
      isOpen: () => true,
    } as unknown as App['channels'],
    people: { ownersChat: () => journal.questions.ownersChat() } as App['people'],
    hooks,
    commands: new CommandTable({ origins: ORIGINS, commands }),
    audit: { record: async () => {} } as unknown as App['audit'],
    plugins: { each: () => [] } as unknown as App['plugins'],
    turns: runner,
  });
  Object.assign(app, { questions: new Questions(app) });
  const loop = new AgentLoop(app);
  const running = loop.run();
  const owned = stack.move();
  return {
    loop,
    bus,
    journal,
    [Symbol.asyncDispose]: async () => {
      await loop.stop(100);
      bus.close();
      await running;
      await owned.disposeAsync();
    },
  };
}
