import type { App } from '../../core/app.ts';
import type { Feed } from '../../core/gateway/feed/feed.ts';
import type { Inside } from '../../core/gateway/http/options.ts';
import type { HttpServer } from '../../core/gateway/http/server.ts';
import { cleanHealth } from '../../core/assistant/channels.ts';
import { filesOf } from './files.ts';
import { historyOf } from './history.ts';
import { loadPage } from './page.ts';
import { Readiness } from './readiness.ts';
import { continuedTurns, rowsOf, waitingQuestions } from './watching.ts';

/** Serves HTTP for a gateway, with all that lies behind its login. */
export async function serveHttp(
  app: App,
  { assistant, port }: { readonly assistant: Inside['assistant']; readonly port: number | undefined },
): Promise<HttpServer & Pick<Feed, 'changed'>> {
  const { bus, paths, random, version, clock, log, storage, startedAt } = app;
  const { startHttpServer } = await import('../../core/gateway/http/server.ts');
  const feedModule = await import('../../core/gateway/feed/feed.ts');
  const { gatewayToken } = await import('../../core/gateway/token.ts');
  const { webDraft } = await import('../../core/gateway/http/web-draft.ts');
  const { host, port: configured, token, publicUrl, ui } = app.config.gateway;
  const health = (): ReturnType<typeof cleanHealth> => cleanHealth(app);
  const history = historyOf(app);
  await using stack = new AsyncDisposableStack();
  const readiness = stack.use(new Readiness(app));
  const feed = stack.use(
    new feedModule.Feed({
      ownChanges: app.program.operations.flatMap(({ changes }) => changes ?? []),
      journal: rowsOf(app),
      bus,
      continued: () => continuedTurns(app),
      left: history.left,
      questions: () => waitingQuestions(app),
      main: () => bus.sessionOf(webDraft({ clock }, { id: '', chat: 'main', text: '' })),
      health: () => JSON.stringify([health(), storage.state.state]),
      clock,
      version,
      startedAt,
    }),
  );
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
            void app.notices.tell(`token:${clock.now()}`, sentence);
          },
        }),
        page: ui ? loadPage : null,
        ready: () => readiness.look(),
        app,
        assistant,
        files: filesOf(app),
        history,
        feed,
      },
    }),
  );
  const owned = stack.move();
  return { ...server, changed: (what) => feed.changed(what), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
