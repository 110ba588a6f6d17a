import type { AssistantInfo, OwnAssistant } from '../gateway/assistant-port.ts';
import { startControlServer } from '../gateway/control.ts';
import { infoOnly } from '../gateway/info-only.ts';
import { enabledChannels } from '../config/channels.ts';
import type { StorageState } from '../storage/storage-health.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import { failed, sentenceOf } from '../util/finding.ts';
import { configFindings, type Ground } from '../assistant/base.ts';

export interface WhileWaiting {
  /** What the start waits for, within a log line: `the disk`. */
  readonly what: string;
  /** Code of the error that every request gets. */
  readonly code: string;
  /** What is waited for and what happens then, as sentences for a person. */
  readonly sentence: () => string;
  /** Nothing is wrong: another gateway runs the home, and this one is ready to take it over. */
  readonly isStandby: () => boolean;
  /** What cannot be written. */
  readonly storage: () => StorageState;
  /** This process owns the home, so its control socket may be served. */
  readonly hasLock: () => boolean;
  /** HTTP port instead of the configured one. */
  readonly port: number | undefined;
}

/** Opens what can answer people and programs while a start waits. A part that cannot be opened is logged and left out. */
export async function openWhileWaiting(base: Ground, waiting: WhileWaiting): Promise<AsyncDisposable> {
  const { config, paths, version, clock, log } = base;
  const { what, hasLock, port, isStandby, storage, sentence } = waiting;
  await using stack = new AsyncDisposableStack();
  const tryTo = async (part: string, open: () => Promise<AsyncDisposable>): Promise<void> => {
    try {
      stack.use(await open());
    } catch (error) {
      log.warn(`start: ${part} is not there while ${what} is waited for`, { reason: errorMessage(error) });
    }
  };
  let http: string | null = null;
  if (base.host === null)
    await tryTo('HTTP', async () => {
      const { startHttpServer } = await import('../gateway/http/server.ts');
      const { host, port: configured, token, publicUrl } = config.gateway;
      const server = await startHttpServer({
        host,
        port: port ?? configured,
        token,
        publicUrl,
        inside: null,
        version,
        channels: () => ({}),
        home: paths.home,
        storage,
        standby: () => (isStandby() ? sentence() : null),
        clock,
        log,
      });
      http = server.address;
      return server;
    });
  if (hasLock()) {
    const assistant = waitingAssistant(base, { ...waiting, http: () => http });
    await tryTo('the control socket', () => startControlServer({ path: paths.socket, version, assistant, log, clock }));
  }
  return stack.move();
}

/** Says how things stand, and of everything else that it has to wait. */
function waitingAssistant(
  base: Ground,
  { sentence, code, isStandby, http }: WhileWaiting & { readonly http: () => string | null },
): OwnAssistant {
  const { config, loaded, paths, version, startedAt } = base;
  const found = configFindings(loaded, process.getuid?.());
  const refuse = (): never => {
    throw new AppError(code, sentence());
  };
  const findings = (): AssistantInfo['findings'] =>
    isStandby() ? found : [{ id: 'gateway.running', ...failed(sentence()) }, ...found];
  const info = async (): Promise<AssistantInfo> => ({
    version,
    pid: process.pid,
    home: paths.home,
    model: config.agent.model,
    channels: Object.fromEntries(Object.keys(enabledChannels(loaded)).map((name) => [name, { state: 'stopped' }])),
    findings: findings(),
    warnings: findings().map(sentenceOf),
    waiting: sentence(),
    startedAt,
    http: http(),
  });
  return infoOnly(loaded.program.operations, info, refuse);
}
