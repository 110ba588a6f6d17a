import { join } from 'node:path';
import type { ChatCommand } from '../../src/agent/commands/command.ts';
import { CommandTable } from '../../src/agent/commands/table.ts';
import { HookRunner, type Hooks } from '../../src/agent/hooks/hooks.ts';
import { AgentLoop, type LoopPorts } from '../../src/agent/loop.ts';
import { readAnswer } from '../../src/agent/questions/answers.ts';
import { Questions } from '../../src/agent/questions/questions.ts';
import { MessageBus } from '../../src/bus/bus.ts';
import { openJournal, type Journal } from '../../src/journal/journal.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { systemClock } from '../../src/util/clock.ts';
import { createIds } from '../../src/util/ids.ts';
import { silentLog } from '../../src/util/log.ts';
import { systemRandom } from '../../src/util/random.ts';
import { Slots } from '../../src/util/slots.ts';
import { storageHealth } from './healthy-storage.ts';
import { tempFolder } from './temp.ts';

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
  readonly runner?: LoopPorts['runner'];
}

const NO_TURNS: LoopPorts['runner'] = {
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
  const loop = new AgentLoop({
    runtime: { clock, log, newId, redact: (text) => text, storage: storageHealth(clock) },
    store: { journal, sessions, bus, consolidation: { beforeTurn: async () => {}, afterTurn: () => {} } },
    limits: {
      slots: new Slots(4),
      maxIterations: 10,
      toolResultChars: 10_000,
      turnTimeoutMs: 60_000,
      bursts: { whenBusy: () => 'steer', debounceMs: 0, groupDebounceMs: () => 0 },
    },
    people: {
      speech: { isOffered: () => false, answersVoice: () => false },
      questions: new Questions({
        ledger: journal.questions,
        allowances: journal.allowances,
        clock,
        random: systemRandom,
        mask: (text) => text,
        redact: (text) => text,
        messages: () => 1,
        attach: async () => null,
        closed: () => {},
        reaches: () => true,
      }),
      render: () => [],
      holdBack: async () => false,
      settled: async () => {},
      roleNow: ({ role }) => role,
    },
    hooks,
    commands: { table: new CommandTable({ commands }), audit: async () => {} },
    runner,
  });
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
