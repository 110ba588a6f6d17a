import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OpenView } from '../../src/core/landing/open-view.ts';
import { layersOf, RACED } from './landing-kills.ts';
import { landingWorld } from './landing-world.ts';

// Lands or undoes in a home of `landing-kills.ts`, and kills itself at a step.
const [home = '', phase, step = ''] = process.argv.slice(2);
/** The landing's step at which another program comes between. */
const RACE = 6;
let [races, left] = [phase === 'race' ? RACE : Infinity, Number(step)];
const onStep = (): void => {
  if (races > 0 && races !== Infinity) {
    races -= 1;
    if (races > 0) return;
    writeFileSync(join(home, 'theirs'), 'theirs');
    renameSync(join(home, 'theirs'), join(home, 'workspace', RACED));
    return;
  }
  if (left <= 0) process.kill(process.pid, 'SIGKILL');
  left -= 1;
};
await using world = await landingWorld({ home, onStep });
if (phase === 'undo') {
  const [row] = world.landing.ofTurn('chat', 't1');
  const undone = await world.landing.undo(row?.id ?? '', new AbortController().signal);
  if (!undone.undone) throw new Error(JSON.stringify(undone));
} else {
  const view = new OpenView(world.landing, { id: 'v1', layers: layersOf(home), mostBytes: 1e9 });
  const result = await world.land(view);
  if ('notLanded' in result && phase === 'land') throw new Error(result.notLanded);
}
