import type { CommandTable } from '../agent/commands/table.ts';
import { recoverTurns } from '../agent/recovery/recovery.ts';
import type { MessageBus } from '../bus/bus.ts';
import type { MenuCommand } from '../channels/channel.ts';
import type { Journal } from '../journal/journal.ts';
import { sleep } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Agent } from './agent.ts';
import type { Base } from './base.ts';
import { recordStates, type Channels } from './channels.ts';
import { dropOldAllowances } from './people/old-allowances.ts';
import { endWhatRestoreLeft } from './start/restored.ts';
import { announceSafeMode, whenCalm } from './start/safe-mode.ts';
import { createTryTellOwner } from './tell-owner.ts';

/** Together below the 10 s in which a stop ends, unless turns are given more time. */
export const TURN_GRACE_MS = 3_000;
const DELIVERY_GRACE_MS = 1_500;
const RESTART_WAIT_MS = 1_000;

interface Joined {
  readonly agent: Agent;
  readonly bus: MessageBus;
  readonly journal: Journal;
}

/** Resumes the turns and processes that an earlier process left, before any channel opens. `stack` ends them when the start fails. */
export async function resumeEarlierWork(
  base: Base,
  { agent, bus, journal }: Joined,
  stack: AsyncDisposableStack,
): Promise<void> {
  await endWhatRestoreLeft(base, { agent, journal });
  await dropOldAllowances(base, { journal, bus });
  await agent.background.recover({ hasDied: journal.starts.unclean > 0 });
  await finishUndos(base, agent.undo);
  stack.defer(() => agent.loop.abandon());
  const recovered = await recoverTurns(agent.loop, agent.ports, base.suspects);
  if (recovered > 0) base.log.info('recovery: turns of an earlier process resumed', { turns: recovered });
  agent.consolidation.start();
}

/** Finishes what was being taken back when an earlier process ended. */
async function finishUndos({ log }: Base, undo: Agent['undo']): Promise<void> {
  for (const id of await undo.unfinished()) {
    try {
      const done = await undo.finish(id);
      log.info('undo: an earlier one is finished', { id, session: done?.session });
    } catch (error) {
      log.error('undo: an earlier one is not finished; the next start tries again', {
        id,
        reason: errorMessage(error),
      });
    }
  }
}

/**
 * Starts what takes messages and makes them: delivery, the loop, the channels, the schedule. `stack` stops them in the
 * opposite order: the schedule, then the turns, then the deliveries.
 */
export async function startConsumers(
  base: Base,
  {
    agent,
    channels,
    bus,
    journal,
    closing,
    grace,
    onRestart,
  }: Joined & {
    readonly channels: Channels;
    /** Is aborted when the process stops. */
    readonly closing: AbortController;
    /** How long turns may still run when it stops. */
    readonly grace: { readonly turnsMs: number };
    readonly onRestart: (() => void) | undefined;
  },
  stack: AsyncDisposableStack,
): Promise<void> {
  const { loop, mcp, automation } = agent;
  channels.delivery.start();
  stack.defer(() => channels.delivery.drain(DELIVERY_GRACE_MS));
  stack.defer(() => closing.abort(new Error('the process is stopping')));
  const looping = keepRunning(() => loop.run(), base);
  stack.defer(async () => {
    await loop.stop(grace.turnsMs);
    bus.close();
    await looping;
  });

  await channels.manager.start(() => menuOf(agent.ports.commands.table));
  if (base.serving) stack.use(await recordStates(base, channels, journal));
  if (base.serving) mcp.connectNew();
  stack.use(automation);
  stack.use(agent.heartbeat);
  // A trial runs nothing of the schedule; safe mode sends what needs neither a plugin nor a model.
  const runsSchedule = !base.safe || journal.starts.isLoop;
  const announced = base.safe
    ? announceSafeMode(base, { starts: journal.starts, tellOwner: createTryTellOwner(base, { journal, bus }) })
    : Promise.resolve();
  const scheduled = announced
    .then(() => (runsSchedule ? automation.start() : undefined))
    .then(() => agent.heartbeat.start());
  stack.defer(async () => await scheduled);
  stack.use(whenCalm(base, { journal, running: agent.runningTurns, restart: onRestart }));
}

/** Of everybody's commands, and of those for owners. */
function menuOf(table: CommandTable): readonly MenuCommand[] {
  const everybodys = new Set(table.of('guest').map(({ name }) => name));
  return table.of('owner').map(({ name, description }) => ({ name, description, isOwners: !everybodys.has(name) }));
}

/** A consumer that fails (the disk could not be read) begins again; what it had not finished is still in the journal. */
async function keepRunning(run: () => Promise<void>, { log, clock }: Pick<Base, 'log' | 'clock'>): Promise<void> {
  for (;;) {
    try {
      await run();
      return;
    } catch (error) {
      log.error('agent: loop failed, starting it again', { reason: errorMessage(error) });
      await sleep(clock, RESTART_WAIT_MS);
    }
  }
}
