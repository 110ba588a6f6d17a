import { connect } from 'node:net';
import { isLoopback } from '../../core/gateway/token.ts';
import { readStarts } from '../../core/journal/starts.ts';
import { plural } from '../../core/util/text.ts';
import { failed, note, ok, warning, type Found } from '../../core/util/finding.ts';
import { checksOn, LIVE } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const gatewayChecks = checksOn('gateway', [
  ['gateway.running', 'an assistant runs on this home', running],
  ['gateway.version', 'it is of the version of this program', version],
  ['gateway.port', 'no other program has its port for HTTP', port, LIVE],
  ['gateway.exposed', 'other machines cannot reach its port', exposed],
  ['gateway.starts', 'it did not break down lately, and is not in safe mode', starts],
  ['gateway.warnings', 'what else it warns of', warnings],
]);

/** So many breakdowns in a row are no accident. */
const MANY = 3;

function running({ gateway, isMachine, command }: Scene): readonly Found[] {
  if (gateway === null)
    return [
      note(isMachine ? 'No gateway runs on this machine.' : 'No assistant runs on this home.', command('gateway')),
    ];
  const at = gateway.http === null ? '' : `, HTTP at ${gateway.http}`;
  const what =
    gateway.homes === undefined
      ? gateway.model
      : plural(gateway.homes.filter(({ state }) => state !== 'waiting').length, 'home');
  return [ok(`It runs as process ${gateway.pid} with ${what}${at}.`)];
}

function version({ gateway, version: own, service }: Scene): readonly Found[] {
  if (gateway === null) return [];
  if (gateway.version === own) return [ok(`It is of version ${own}.`)];
  return [
    warning(
      `Version ${gateway.version} is running, but version ${own} is installed.`,
      service === null ? 'Send /restart to the assistant' : service.command('restart'),
    ),
  ];
}

async function port({ loaded, gateway, command }: Scene, signal: AbortSignal): Promise<readonly Found[]> {
  if (loaded === null || gateway !== null) return [];
  const { host, port: set } = loaded.config.gateway;
  if (set === 0) return [];
  const target = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  if (!(await isListening({ host: target, port: set }, signal))) return [ok(`The port ${set} is free.`)];
  return [
    failed(
      `Another program listens at ${target}:${set}, so the gateway cannot start there.`,
      command('config set gateway.port 0'),
    ),
  ];
}

function isListening(address: { readonly host: string; readonly port: number }, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    const end = (isThere: boolean) => (): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', end(true));
    socket.once('error', end(false));
    signal.addEventListener('abort', end(false), { once: true });
  });
}

function exposed({ loaded, command }: Scene): readonly Found[] {
  if (loaded === null) return [];
  const { host, token } = loaded.config.gateway;
  if (isLoopback(host)) return [ok('Only this machine can reach its port.')];
  const remedy = command('config set gateway.host 127.0.0.1');
  if (token === null)
    return [failed(`gateway.host is ${host} without a gateway.token, so the gateway does not start.`, remedy)];
  return [note(`Other machines can reach the port of the gateway (gateway.host is ${host}).`, remedy)];
}

function starts({ journal, gateway, holder, paths, service, command }: Scene): readonly Found[] {
  if (journal === null) return [];
  const isRunning = gateway !== null || holder !== null;
  // The newest start is of the process that runs, or of one that died.
  const died = readStarts(paths.starts).length - (isRunning ? 1 : 0);
  const logs = service === null ? `Start it and read what it says: ${command('gateway')}` : service.command('logs');
  if (gateway?.findings.some(({ id, facts }) => id === 'gateway.starts' && facts?.['mode'] === 'safe') === true) {
    return [failed('It runs in safe mode, because it broke down several times in a row.', logs)];
  }
  if (died >= MANY) return [warning(`It broke down ${died} times in a row.`, logs)];
  if (died > 0 && !isRunning)
    return [note('Its last process ended without tidying up; the next start recovers what it was doing.', logs)];
  return [ok('It did not break down lately.')];
}

/** What no other check is about. */
function warnings({ gateway, known, checks }: Scene): readonly Found[] {
  const ids = new Set(checks.map(({ id }) => id));
  const found = known.filter(({ id }) => id === 'gateway.warnings' || !ids.has(id));
  return found.length === 0 && gateway !== null ? [ok('It warns of nothing else.')] : found;
}
