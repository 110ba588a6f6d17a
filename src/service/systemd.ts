import { AppError } from '../core/util/errors.ts';
import { shellWord } from '../core/util/text.ts';
import type { Host } from './host.ts';
import { SERVICE, SYSTEM_USER_HOME, UNIT, type Places } from './places.ts';
import { requireProgram, runProgram, type ProgramResult, type Variables } from './program.ts';
import type { ServiceState, Supervisor } from './supervisor.ts';
import { isPersonal, unitText } from './unit.ts';
import { assistantCommand } from '../core/util/assistant-command.ts';

/** Seconds that systemd may take to start or stop it: `TimeoutStartSec` and `TimeoutStopSec` are shorter. */
const START_SECONDS = 120;

/** Exit code of the assistant when its configuration cannot run. */
const BAD_CONFIGURATION = '78';

const SHOWN = [
  'LoadState',
  'ActiveState',
  'SubState',
  'StateChangeTimestamp',
  'UnitFileState',
  'MainPID',
  'StatusText',
  'ExecMainStatus',
] as const;

/** A service of systemd: a unit of one person (`systemctl --user`) or of the machine. */
export function systemdSupervisor(
  places: Places,
  { host, env }: { readonly host: Host; readonly env: Variables },
): Supervisor {
  const isUser = places.kind === 'user';
  const scope = isUser ? ['--user'] : [];
  const next = `Look at what happened with: ${isUser ? 'journalctl --user-unit' : 'journalctl -u'} ${SERVICE} -n 50`;
  const systemctl = (args: readonly string[], seconds = 20): Promise<ProgramResult> =>
    runProgram('systemctl', [...scope, ...args], { env, seconds });
  const require = async (args: readonly string[], seconds = 20): Promise<void> => {
    await requireProgram('systemctl', [...scope, ...args], { env, seconds, next });
  };
  const begin = async (act: 'start' | 'restart'): Promise<void> => {
    try {
      await require([act, UNIT], START_SECONDS);
    } catch (error) {
      const { out } = await systemctl(['show', UNIT, '--property=ExecMainStatus', '--value']);
      if (out.trim() !== BAD_CONFIGURATION) throw error;
      throw new AppError(
        'service-misconfigured',
        `The service did not start, because its configuration cannot run. See what is wrong with: ${checkCommand(places)}`,
      );
    }
  };
  const requireInstalled = async (): Promise<void> => {
    const { out } = await systemctl(['show', UNIT, '--property=LoadState']);
    if (out.trim() === 'LoadState=loaded') return;
    throw new AppError('service-missing', `The service is not installed. Install it with: ${installCommand(places)}`);
  };
  const lingers = async (): Promise<boolean> => {
    const { out } = await runProgram('loginctl', ['show-user', host.user, '--property=Linger', '--value'], { env });
    return out.trim() === 'yes';
  };

  return {
    places,
    text: () => unitText(places),
    prepare: async () => {
      const { code, said, out } = await systemctl(['show', '--property=Version', '--value']);
      if (code !== 0 || out.trim() === '') throw unreachable(said, { host, isUser });
      if (isUser) return;
      requireSharedProgram(host);
      await requireSystemUser(env);
    },
    enable: async () => {
      await require(['daemon-reload']);
      await require(['enable', UNIT]);
      const notes = isUser && !(await lingers()) ? await turnOnLinger(host, env) : [];
      await begin('restart');
      return notes;
    },
    disable: async () => {
      await systemctl(['disable', '--now', UNIT], START_SECONDS);
    },
    removed: async () => {
      await require(['daemon-reload']);
      await systemctl(['reset-failed', UNIT]);
    },
    start: async () => {
      await requireInstalled();
      await begin('start');
    },
    stop: async () => {
      await requireInstalled();
      await require(['stop', UNIT], START_SECONDS);
    },
    restart: async () => {
      await requireInstalled();
      await begin('restart');
    },
    state: async () => {
      const shown = await systemctl(['show', UNIT, `--property=${SHOWN.join(',')}`]);
      if (shown.code !== 0) throw unreachable(shown.said, { host, isUser });
      return stateOf(shown.out, { places, linger: isUser ? await lingers() : null });
    },
    logs: (follow) => ({
      program: 'journalctl',
      args: [
        ...(isUser ? ['--user-unit', UNIT] : ['--unit', UNIT]),
        '--lines=200',
        '--no-pager',
        '--output=short-iso',
        ...(follow ? ['--follow'] : []),
      ],
    }),
  };
}

function installCommand({ kind }: Places): string {
  return assistantCommand(`service install${kind === 'system' ? ' --system' : ''}`);
}

function checkCommand({ home }: Places): string {
  const flag = ` --home ${shellWord(home)}`;
  return assistantCommand(`config check${flag}`);
}

/** Why systemd gave no answer, as one sentence with the next step. */
function unreachable(said: string, { host, isUser }: { readonly host: Host; readonly isUser: boolean }): AppError {
  if (/not been booted with systemd|Host is down/iu.test(said)) {
    return new AppError(
      'no-systemd',
      `This machine does not run systemd, so there is no service to manage. Start the assistant with: ${assistantCommand('gateway')}`,
    );
  }
  if (isUser) {
    return new AppError(
      'no-user-session',
      `systemd has no session for ${host.user}${said === '' ? '' : ` (${said.replace(/[.\s]*$/u, '')})`}. Install the package dbus-user-session, then log in anew as ${host.user} (not with su or sudo), so that XDG_RUNTIME_DIR is set; or install for the machine with: sudo ${assistantCommand('service install --system')}`,
    );
  }
  return new AppError('no-systemd', `systemd gave no answer: ${said}. Try again as root.`);
}

/** A unit of the machine hides the folders of people. */
function requireSharedProgram({ node, program }: Host): void {
  const hidden = [node, program].find(isPersonal);
  if (hidden === undefined) return;
  throw new AppError(
    'program-hidden',
    `${hidden} lies in a folder of one person, which a service of the machine cannot read. Install the package with the Node of the system (docs/install.md), or leave out --system.`,
  );
}

async function requireSystemUser(env: Variables): Promise<void> {
  if ((await runProgram('id', ['-u', SERVICE], { env })).code === 0) return;
  const user = ['--system', '--user-group', '--create-home', '--home-dir', SYSTEM_USER_HOME];
  await requireProgram('useradd', [...user, '--shell', '/usr/sbin/nologin', SERVICE], {
    env,
    next: `Make a user named ${SERVICE} by hand, then try again.`,
  });
}

/** Without lingering a service ends when the person logs out. */
async function turnOnLinger({ user }: Host, env: Variables): Promise<readonly string[]> {
  const { code } = await runProgram('loginctl', ['enable-linger', user], { env });
  return code === 0
    ? [`Lingering is on for ${user}: the service starts with the machine and continues after you log out.`]
    : [
        `The service ends when you log out, because lingering is off. Turn it on with: sudo loginctl enable-linger ${user}`,
      ];
}

function stateOf(shown: string, facts: { readonly places: Places; readonly linger: boolean | null }): ServiceState {
  const values = new Map(
    shown.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const),
  );
  const value = (name: (typeof SHOWN)[number]): string => values.get(name) ?? '';
  const { kind, home, unit } = facts.places;
  const active = value('ActiveState');
  const running = active === 'active' || active === 'reloading';
  const isMisconfigured = active === 'failed' && value('ExecMainStatus') === BAD_CONFIGURATION;
  const said = running && value('StatusText') !== '' ? value('StatusText') : null;
  const says = isMisconfigured ? `the configuration cannot run; see ${checkCommand(facts.places)}` : said;
  return {
    installed: value('LoadState') === 'loaded',
    running,
    state: `${active} (${value('SubState')})`,
    since: value('StateChangeTimestamp') === '' ? null : value('StateChangeTimestamp'),
    enabled: value('UnitFileState') === 'enabled',
    linger: facts.linger,
    pid: ['', '0'].includes(value('MainPID')) ? null : Number(value('MainPID')),
    says,
    home,
    unit,
    kind,
  };
}
