import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command-run.ts';
import { seeded } from '../support/crash-process.ts';
import { countOpen } from '../support/crash-steps.ts';
import { waitFor } from '../support/wait.ts';
import { startWorld } from '../support/world.ts';

const RESTORES = 20;
const PEOPLE = [42, 43, 44];
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

/** What commands did in a home, oldest first. */
function effectsIn(home: string): readonly string[] {
  const path = join(home, 'workspace', 'effects');
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
}

const repeated = (names: readonly string[]): readonly string[] => names.filter((name, n) => names.indexOf(name) !== n);

test(
  `${RESTORES} backups made under load, each restored after the present went on: nothing is lost, nothing happens twice`,
  { timeout: 1_800_000 },
  async () => {
    const random = seeded(seed);
    const ids = PEOPLE.map(String);
    const telegram = { allowFrom: ids, owners: ids };
    await using world = await startWorld({
      config: { agent: { whenBusy: 'queue' }, tools: { exec: { mode: 'full' } }, channels: { telegram } },
    });
    world.model.setHandler(({ view }) => {
      const name = /do (?<name>k\d+)$/u.exec(view.lastUserText)?.groups?.['name'];
      if (name === undefined) return 'Hello.';
      if (view.toolResults.length > 0) return `Did ${name}.`;
      return { calls: [{ name: 'exec', arguments: { command: `sleep 0.1; echo ${name} >> effects` } }] };
    });
    const texts = (): readonly string[] => world.telegram.sentMessages.map(({ visibleText }) => visibleText);
    const asked: string[] = [];
    const ask = (count: number): void => {
      for (let n = 0; n < count; n += 1) {
        const name = `k${asked.length}`;
        asked.push(name);
        world.telegram.userSays(PEOPLE[asked.length % PEOPLE.length] ?? 0, `do ${name}`);
      }
    };
    const done: string[] = [];
    let openInBackups = 0;
    // Lines of the effects that were in the backup.
    let known = 0;
    let { home } = world;
    for (let n = 0; n < RESTORES; n += 1) {
      const file = join(world.home, '..', `backup-${n}.tar.gz`);
      ask(9);
      await delay(random() * 1_500);
      const backup = await runCommand(['backup', '--out', file], home);
      expect(backup, backup.err).toMatchObject({ code: 0 });
      ask(3);
      await waitFor(() => asked.every((name) => texts().includes(`Did ${name}.`)), { what: `round ${n}` });
      const past = join(world.home, '..', `restored-${n}`);
      const restored = await runCommand(['restore', file, '--home', past], past);
      expect(restored, restored.err).toMatchObject({ code: 0 });
      openInBackups += countOpen(past);
      done.push(...effectsIn(home).slice(known));
      known = effectsIn(past).length;
      await world.restart(past);
      const before = texts().length;
      world.telegram.userSays(PEOPLE[0] ?? 0, 'hello');
      await waitFor(() => texts().slice(before).includes('Hello.'), { what: `an answer after restore ${n}` });
      await waitFor(() => countOpen(past) === 0, { what: 'the rest' });
      home = past;
    }
    done.push(...effectsIn(home).slice(known));
    const report = {
      lost: asked.filter((name) => !texts().includes(`Did ${name}.`)),
      doubled: repeated(texts().filter((text) => /^(?:↻ )?Did /u.test(text))),
      repeatedEffects: repeated(done),
    };
    console.log(`seed ${seed}: ${asked.length} messages, ${openInBackups} open in backups, ${JSON.stringify(report)}`);
    expect(report).toEqual({ lost: [], doubled: [], repeatedEffects: [] });
    expect(openInBackups).toBeGreaterThan(0);
  },
);
