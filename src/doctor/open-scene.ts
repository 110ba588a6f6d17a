import { existsSync, readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isAlive, readName } from '../core/storage/lock.ts';
import type { Environment } from '../core/config/environment.ts';
import type { HomePaths } from '../core/config/home.ts';
import { ConfigError, placed } from '../core/config/config-error.ts';
import { isMachine } from '../core/config/hosted-home.ts';
import { loadConfig, type LoadedConfig } from '../core/config/load.ts';
import { findingIn } from '../core/config/read-config.ts';
import { failed, type Finding, type Found } from '../core/util/finding.ts';
import type { Program } from '../core/program.ts';
import { readVersion } from '../core/config/version.ts';
import { JournalReader } from '../core/journal/journal-reader.ts';
import type { Host } from '../service/host.ts';
import { openService } from '../service/open-service.ts';
import { readVariables } from '../service/variables.ts';
import { assistantCommand } from '../core/util/assistant-command.ts';
import type { Clock } from '../core/util/clock.ts';
import { AppError, errorMessage } from '../core/util/errors.ts';
import type { Random } from '../core/util/random.ts';
import { shellWord } from '../core/util/text.ts';
import { checksOf } from './checks.ts';
import type { Holder, InstalledService, RunningGateway, Scene } from '../core/doctor/scene.ts';

export interface SceneOptions {
  readonly program: Program;
  readonly paths: HomePaths;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly host: Host;
  readonly gateway: RunningGateway | null;
  /** The home as the command line named it; undefined: it did not. */
  readonly homeFlag: string | undefined;
}

/** Reads what all checks look at. Never throws for the state of a home. */
export async function openScene(options: SceneOptions): Promise<Scene & Disposable> {
  const { program, paths, env: ownEnv, clock, random, host, gateway, homeFlag } = options;
  const service = findService(options);
  const command = (words: string): string => {
    // The gateway of the main assistant, or of the machine, runs a home that lies in its folder.
    const home = words === 'gateway' ? (paths.host ?? homeFlag) : homeFlag;
    return assistantCommand(`${words}${home === undefined ? '' : ` --home ${shellWord(home)}`}`);
  };
  const env = { ...ownEnv, ...service?.variables };
  const { loaded, configTroubles } = await loadConfig({ program, home: paths.home, env }).then(
    (found) => ({ loaded: found, configTroubles: [] }),
    (error: unknown) => ({ loaded: null, configTroubles: troublesOf(error, paths.config, command('config edit')) }),
  );
  const holder = findHolder(paths.lock, { root: host.root, hostname: hostname() });
  const { journal, journalTrouble } = readJournal(paths.state, gateway !== null || holder !== null);
  return {
    program: loaded?.program ?? program,
    checks: await checksOf(program, loaded?.config ?? null),
    paths,
    env,
    ownEnv,
    clock,
    random,
    host,
    version: readVersion(),
    isMachine: loaded === null ? isMachine(paths.home) : loaded.config.homes.enabled,
    loaded,
    configTroubles,
    gateway,
    known: gateway?.findings ?? (await atRest(paths, loaded, clock)),
    holder,
    journal,
    journalTrouble,
    service,
    command,
    [Symbol.dispose]: () => journal?.[Symbol.dispose](),
  };
}

/** What a gateway would say of a home in which none runs. */
async function atRest(paths: HomePaths, loaded: LoadedConfig | null, clock: Clock): Promise<readonly Finding[]> {
  if (loaded === null || loaded.config.homes.enabled) return loaded?.findings ?? [];
  const { homeAtRest } = await import('../core/start/home-at-rest.ts');
  return homeAtRest(paths, loaded, clock).findings;
}

/** Each thing that is wrong with a configuration, with its place. */
function troublesOf(error: unknown, file: string, edit: string): readonly Found[] {
  if (error instanceof ConfigError && error.problems.length > 0)
    return error.problems.map((problem) => failed(placed(problem, file), edit));
  return [findingIn(error) ?? failed(errorMessage(error), edit)];
}

function readJournal(path: string, isOpen: boolean): Pick<Scene, 'journal' | 'journalTrouble'> {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return { journal: null, journalTrouble: null };
  try {
    return { journal: JournalReader.open(path, { isOpen }), journalTrouble: null };
  } catch (error) {
    return { journal: null, journalTrouble: errorMessage(error) };
  }
}

/** The service of this person or of the machine, if it is for this home. */
function findService({ paths, env, host }: Pick<SceneOptions, 'paths' | 'env' | 'host'>): InstalledService | null {
  try {
    const wish = { system: false, home: undefined, usualHome: paths.home, for: 'look' } as const;
    const { supervisor } = openService(wish, { host, env });
    const { places } = supervisor;
    if (!existsSync(places.unit) || places.home !== paths.home) return null;
    const flag = places.kind === 'system' && host.uid !== 0 ? ' --system' : '';
    let state: ReturnType<InstalledService['state']> | undefined;
    return {
      places,
      text: () => supervisor.text(),
      state: () => (state ??= supervisor.state()),
      variables: readVariables(places.variables),
      command: (act) => `${flag === '' ? '' : 'sudo '}${assistantCommand(`service ${act}${flag}`)}`,
    };
  } catch (error) {
    // No systemd or launchd here, or a home that no unit can name.
    if (error instanceof AppError) return null;
    throw error;
  }
}

/**
 * Who holds the lock of a home, read from the kernel's list: taking the lock to see would keep an assistant from starting.
 * Where the system has no such list, the process whose name is left beside the lock counts if it lives. Null: no one.
 */
function findHolder(
  lock: string,
  { root, hostname }: { readonly root: string; readonly hostname: string },
): Holder | null {
  const file = statSync(lock, { throwIfNoEntry: false });
  if (file === undefined) return null;
  const list = readList(join(root, 'proc/locks'));
  if (list !== null) {
    const held = list
      .split('\n')
      .find((line) => new RegExp(String.raw`\s[0-9a-f]+:[0-9a-f]+:${file.ino}\s`, 'u').test(line));
    if (held === undefined) return null;
    const pid = Number(/(?:READ|WRITE)\s+(-?\d+)\s/u.exec(held)?.[1]);
    return { pid: pid > 0 ? pid : null };
  }
  const name = readName(lock);
  return name !== undefined && name.hostname === hostname && isAlive(name.pid) ? { pid: name.pid } : null;
}

function readList(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
