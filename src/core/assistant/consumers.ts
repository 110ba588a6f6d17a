import type { CommandTable } from '../agent/commands/table.ts';
import { recoverTurns } from '../agent/recovery/recovery.ts';
import type { MenuCommand } from '../channels/channel.ts';
import { sleep } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { App } from '../app.ts';
import { recordStates } from './channels.ts';
import { endWhatRestoreLeft } from '../start/restored.ts';
import { announceSafeMode, whenCalm } from '../start/safe-mode.ts';

/** Together below the 10 s in which a stop ends, unless turns are given more time. */
export const TURN_GRACE_MS = 3_000;
const DELIVERY_GRACE_MS = 1_500;
const RESTART_WAIT_MS = 1_000;

/** Resumes the turns that an earlier process left, before any channel opens. `stack` ends them when the start fails. */
export async function resumeEarlierWork(app: App, stack: AsyncDisposableStack): Promise<void> {
  await app.landing.recover();
  await endWhatRestoreLeft(app);
  await finishUndos(app);
  stack.defer(() => app.loop.abandon());
  const recovered = await recoverTurns(app);
  if (recovered > 0) app.log.info('recovery: turns of an earlier process resumed', { turns: recovered });
  app.consolidation.start();
}

/** Finishes what was being taken back when an earlier process ended. */
async function finishUndos({ log, undo }: App): Promise<void> {
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
  app: App,
  {
    closing,
    grace,
  }: {
    /** Is aborted when the process stops. */
    readonly closing: AbortController;
    /** How long turns may still run when it stops. */
    readonly grace: { readonly turnsMs: number };
  },
  stack: AsyncDisposableStack,
): Promise<void> {
  const { loop, channels, bus } = app;
  channels.delivery.start();
  stack.defer(() => channels.delivery.drain(DELIVERY_GRACE_MS));
  stack.defer(() => closing.abort(new Error('the process is stopping')));
  const looping = keepRunning(() => loop.run(), app);
  stack.defer(async () => {
    await loop.stop(grace.turnsMs);
    bus.close();
    await looping;
  });

  await channels.manager.start(() => menuOf(app.commands));
  if (app.serving) stack.use(await recordStates(app));
  stack.defer(() => app.plugins.stop());
  const announced = app.safe ? announceSafeMode(app) : Promise.resolve();
  const scheduled = announced.then(() => app.plugins.start());
  stack.defer(async () => await scheduled);
  stack.use(whenCalm(app));
}

/** Of everybody's commands, and of those for owners. */
function menuOf(table: CommandTable): readonly MenuCommand[] {
  const everybodys = new Set(table.of('guest').map(({ name }) => name));
  return table.of('owner').map(({ name, description }) => ({ name, description, isOwners: !everybodys.has(name) }));
}

/** A consumer that fails (the disk could not be read) begins again; what it had not finished is still in the journal. */
async function keepRunning(run: () => Promise<void>, { log, clock }: App): Promise<void> {
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
