import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { enabledChannels } from '../../core/config/channels.ts';
import { textIn } from '../../core/config/schema/channels.ts';
import { kindOf } from '../../core/program.ts';
import { machineZone } from '../../core/util/time-zone.ts';
import { failed, note, ok, skipped, warning, type Found } from '../../core/util/finding.ts';
import { checksOn, LIVE } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

/** The oldest Node that runs this program. */
const OLDEST_NODE = 24;
/** No clock that is right shows an earlier year. */
const FIRST_YEAR = 2026;
const LAST_YEAR = 2100;
/** Differences to the time of a server, ms: a note from `toldMs` on; a warning from `badMs` on, because signed requests fail then. */
const SKEW = { toldMs: 60_000, badMs: 300_000 };

export const programChecks = checksOn('program', [
  ['program.node', 'Node is new enough', node],
  ['program.root', 'it does not run as root', root],
  [
    'program.clock',
    'the clock is right, by its year and by the time that a server of a model or a chat platform tells',
    clock,
    LIVE,
  ],
  ['program.timezone', 'reminders come in the time zone of the owner', timezone],
]);

function node({ command }: Scene): readonly Found[] {
  const { node: version } = process.versions;
  if (Number(version.split('.')[0]) >= OLDEST_NODE) return [ok(`Node ${version}.`)];
  return [
    failed(
      `This is Node ${version}, and Node ${OLDEST_NODE} or newer is needed.`,
      `Install it from https://nodejs.org, then run: ${command('doctor')}`,
    ),
  ];
}

function root({ host, command }: Scene): readonly Found[] {
  if (host.uid !== 0) return [ok(`It runs as ${host.user}.`)];
  const isContainer = ['.dockerenv', 'run/.containerenv'].some((name) => existsSync(join(host.root, name)));
  if (isContainer) return [note('It runs as root, inside a container.')];
  return [
    warning(
      'It runs as root: whatever it is talked into may change the whole machine.',
      command('service install --system'),
    ),
  ];
}

async function clock(scene: Scene, signal: AbortSignal): Promise<readonly Found[]> {
  const now = new Date(scene.clock.now());
  const mend = 'sudo timedatectl set-ntp true';
  if (now.getUTCFullYear() < FIRST_YEAR || now.getUTCFullYear() > LAST_YEAR) {
    return [failed(`The clock of this machine says ${now.toISOString().slice(0, 10)}.`, mend)];
  }
  for (const address of serverAddresses(scene)) {
    const told = await timeOf(address, signal);
    if (told === null) continue;
    const skew = told - scene.clock.now();
    const host = new URL(address).host;
    if (Math.abs(skew) < SKEW.toldMs) return [ok(`The clock agrees with ${host}.`)];
    const says = `The clock is ${Math.round(Math.abs(skew) / 1000)} seconds ${skew > 0 ? 'behind' : 'ahead of'} that of ${host}.`;
    return [Math.abs(skew) < SKEW.badMs ? note(says, mend) : warning(says, mend)];
  }
  return [skipped('No server could be asked for the time.')];
}

/** The `date` header of a server, ms since 1970; null: it does not answer, or without a time. */
async function timeOf(address: string, signal: AbortSignal): Promise<number | null> {
  try {
    const response = await fetch(address, {
      method: 'HEAD',
      redirect: 'manual',
      signal,
    });
    const at = Date.parse(response.headers.get('date') ?? '');
    return Number.isNaN(at) ? null : at;
  } catch {
    return null;
  }
}

function timezone({ loaded, command }: Scene): readonly Found[] {
  if (loaded === null) return [];
  const { timezone: set } = loaded.config.agent;
  const machine = machineZone();
  if (set === null) {
    if (!/^(?:Etc\/)?(?:UTC|GMT|UCT|Universal|Zulu)$/u.test(machine))
      return [ok(`The time zone of the machine is ${machine}.`)];
    return [
      note(
        `The machine has the time zone ${machine} and no other, such as Europe/Vienna, is set, so reminders come at the times of ${machine}.`,
        command('config set agent.timezone ZONE'),
      ),
    ];
  }
  return [ok(`The time zone is ${set}${set === machine ? '' : `; that of the machine is ${machine}`}.`)];
}

/** The servers that the configuration reaches: of models with a key or an address, then of chat platforms. */
function serverAddresses({ loaded }: Pick<Scene, 'loaded'>): readonly string[] {
  if (loaded === null) return [];
  const { config, program } = loaded;
  const models = Object.entries(config.providers).flatMap(([name, { apiKey, baseUrl, kind }]) => {
    if (apiKey === null && baseUrl === null) return [];
    const preset = program.presets.get(kind ?? name);
    return [baseUrl ?? preset?.baseUrl ?? preset?.ownUrl];
  });
  const platforms = Object.entries(enabledChannels(loaded)).map(([name, settings]) => {
    const address = kindOf(program, settings.kind ?? name)?.address;
    return address === undefined ? undefined : (textIn(settings, address.key) ?? address.usual);
  });
  return [...models, ...platforms]
    .filter((address) => address !== undefined)
    .map((address) => address.replace(/\/+$/u, ''));
}
