import type { MessageBus } from '../../bus/bus.ts';
import type { ChannelHealth } from '../../channels/channel.ts';
import type { AssistantPort } from '../../gateway/assistant-port.ts';
import type { Feed } from '../../gateway/feed/feed.ts';
import type { ChatPorts } from '../../gateway/http/messages.ts';
import type { OpenAiPorts } from '../../gateway/openai/ports.ts';
import type { HttpServer } from '../../gateway/http/server.ts';
import type { Base } from '../base.ts';
import type { Channels } from '../channels.ts';
import { startMonitoring, type MonitoringParts } from '../monitoring/monitoring.ts';
import type { Stores } from '../storage/stores.ts';
import { filesOf } from './files.ts';
import { historyOf } from './history.ts';
import { loadPage } from './page.ts';
import { Readiness } from './readiness.ts';
import { besideTape, continuedTurns, rowsOf, waitingQuestions } from './watching.ts';
import { createTryTellOwner } from '../tell-owner.ts';

export interface HttpParts extends Omit<MonitoringParts, 'journal' | 'sessions'> {
  readonly bus: MessageBus;
  readonly stores: Pick<Stores, 'journal' | 'media' | 'uploads' | 'sessions'>;
  readonly channels: Channels;
  readonly openai: OpenAiPorts;
  readonly assistant: Pick<AssistantPort, 'request'>;
  /** HTTP port instead of the configured one. */
  readonly port: number | undefined;
}

/** Serves HTTP for a gateway, with all that lies behind its login. */
export async function serveHttp(base: Base, parts: HttpParts): Promise<HttpServer & Pick<Feed, 'changed'>> {
  const { bus, stores, channels, assistant, openai, port } = parts;
  const { config, paths, random, version, newId, clock, log, redact, storage, startedAt } = base;
  const { startHttpServer } = await import('../../gateway/http/server.ts');
  const feedModule = await import('../../gateway/feed/feed.ts');
  const { gatewayToken } = await import('../../gateway/token.ts');
  const { webDraft } = await import('../../gateway/http/web-draft.ts');
  const { host, port: configured, token, publicUrl, ui } = config.gateway;
  const { journal } = stores;
  const health = (): Health => cleanHealth(channels.manager.health(), redact);
  await using stack = new AsyncDisposableStack();
  const readiness = stack.use(new Readiness({ bus, journal, health, storage, clock }));
  const metrics = await startMonitoring(base, { ...parts, ...stores }, stack);
  const feed = stack.use(
    new feedModule.Feed({
      journal: rowsOf(journal, redact),
      bus,
      continued: () => continuedTurns(journal),
      questions: () => waitingQuestions(journal, redact),
      main: () => bus.sessionOf(webDraft({ clock }, { id: '', chat: 'main', text: '' })),
      health: () => JSON.stringify([health(), storage.state.state]),
      clock,
      version,
      startedAt,
    }),
  );
  const files = filesOf(stores);
  const server = stack.use(
    await startHttpServer({
      host,
      port: port ?? configured,
      token,
      publicUrl,
      version,
      channels: health,
      home: paths.home,
      storage: () => storage.state,
      clock,
      log,
      inside: {
        token: await gatewayToken({
          configured: token,
          path: paths.token,
          random,
          remade: (sentence) => {
            log.warn('http: token made again', { reason: sentence });
            void createTryTellOwner(base, { journal, bus })(`token:${clock.now()}`, sentence);
          },
        }),
        random,
        ended: journal.endedLogins,
        page: ui ? loadPage : null,
        ready: () => readiness.look(),
        metrics,
        openai,
        hooks: {
          hooks: () => config.hooks,
          bus,
          receivedAt: (key) => journal.places.find(key)?.receivedAt,
          newId,
          clock,
          log,
        },
        routes: { find: (method, path) => base.plugins.routes.find(method, path) },
        assistant,
        redact: (json, { showsRuns }) => redact(json, showsRuns ? { knownBy: 'value' } : {}),
        chats: chatsOf(base, { bus, journal, file: files.use }),
        files,
        history: historyOf(paths.sessions, besideTape(journal, redact)),
        feed,
      },
    }),
  );
  const owned = stack.move();
  return { ...server, changed: (what) => feed.changed(what), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** How what a person says on the page becomes messages. */
function chatsOf(
  { clock }: Pick<Base, 'clock'>,
  { bus, journal, file }: Pick<ChatPorts, 'file'> & Pick<HttpParts, 'bus'> & Pick<Stores, 'journal'>,
): ChatPorts {
  return {
    bus,
    clock,
    question: (code) => journal.questions.byCode(code),
    onAnswer: (listener) =>
      journal.inbox.onAnswer(({ message, reply }) => {
        if (message.channel === 'web') listener(message.externalId, reply);
      }),
    file,
  };
}

type Health = Readonly<Record<string, ChannelHealth>>;

/** What a platform said of an error may hold anything. */
export function cleanHealth(health: Health, redact: Base['redact']): Health {
  return Object.fromEntries(
    Object.entries(health).map(([name, { detail, ...facts }]) => [
      name,
      { ...facts, ...(detail === undefined ? {} : { detail: redact(detail) }) },
    ]),
  );
}
