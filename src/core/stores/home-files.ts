import { BOOTSTRAP_FILES } from '../agent/prompt/layers.ts';
import type { Journal } from '../journal/journal.ts';
import { damageText, type FileDamage, HomeFiles } from '../storage/home-files.ts';
import type { Clock } from '../util/clock.ts';
import { type Finding, warning } from '../util/finding.ts';
import { machineZone } from '../util/time-zone.ts';
import type { Ground } from '../assistant/base.ts';
import type { Notices } from '../assistant/notices.ts';

/** The jobs and the databases report their own damage; tapes are compared with the journal. */
const FILES: readonly string[] = [
  'config.json',
  ...[...BOOTSTRAP_FILES, 'HEARTBEAT.md', 'memory/MEMORY.md', 'memory/HISTORY.md'].map((name) => `workspace/${name}`),
  'audit.jsonl',
  'gateway.token',
  'editors.json',
  'skill-pins.json',
  'plugin-pins.json',
];

/** Between two tries to tell an owner who has written nowhere yet, ms. */
const TELL_AGAIN_MS = 5_000;

/** Damage that was found since the start: it is in the status, and the owner is told as soon as it is known where. */
export class DamageReports implements Disposable {
  readonly #clock: Clock;
  readonly #all: Finding[] = [];
  readonly #untold: { readonly id: string; readonly text: string }[] = [];
  #notices: Notices | undefined;
  #isTelling = false;
  #again: Disposable | undefined;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Oldest first. */
  get all(): readonly Finding[] {
    return this.#all;
  }

  found(text: string, id = 'store.files'): void {
    this.#all.push({ id, ...warning(text) });
    this.owe(`damaged:${this.#clock.now()}:${this.#all.length}`, text);
  }

  /** Tells the owner what the status has from elsewhere; a notice with the same id once. */
  owe(id: string, text: string): void {
    this.#untold.push({ id, text });
    this.#tell();
  }

  /** Tells what was found and what will be. */
  tellBy(notices: Notices): void {
    this.#notices = notices;
    this.#tell();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#again?.[Symbol.dispose]();
  }

  #tell(): void {
    if (this.#notices === undefined || this.#isTelling) return;
    this.#isTelling = true;
    void this.#tellAll(this.#notices).finally(() => {
      this.#isTelling = false;
      this.#again?.[Symbol.dispose]();
      if (this.#untold.length === 0 || this.#isClosed) return;
      this.#again = this.#clock.timer(TELL_AGAIN_MS, () => this.#tell());
    });
  }

  async #tellAll(notices: Notices): Promise<void> {
    for (let next = this.#untold[0]; next !== undefined && !this.#isClosed; next = this.#untold[0]) {
      if (!(await notices.warn(next.id, next.text))) return;
      this.#untold.shift();
    }
  }
}

/** Looks after the home's files from now on; the first look is done when it resolves. */
export async function watchHome(
  { paths, clock, log, storage, config }: Pick<Ground, 'paths' | 'clock' | 'log' | 'storage' | 'config'>,
  { journal, damage }: { readonly journal: Pick<Journal, 'homeFiles'>; readonly damage: DamageReports },
): Promise<Disposable> {
  const zone = config.agent.timezone ?? machineZone();
  let isRunning = false;
  const files = new HomeFiles(FILES, {
    home: paths.home,
    records: journal.homeFiles,
    onWrote: (listener) => storage.onWrote(listener),
    damaged: (all) => {
      const found = all.filter((one) => !isToldElsewhere(one, isRunning));
      if (found.length === 0) return;
      for (const { path, problem } of found) log.error('home: file damaged', { path, problem });
      damage.found(damageText(found, zone));
    },
    clock,
  });
  await files.watch();
  isRunning = true;
  return files;
}

/** At run time the reloader reports problems with config.json, and an invalid token is replaced with a notice of its own. */
function isToldElsewhere({ path, problem }: FileDamage, isRunning: boolean): boolean {
  return path === 'config.json' ? isRunning : path === 'gateway.token' && problem !== 'is gone';
}
