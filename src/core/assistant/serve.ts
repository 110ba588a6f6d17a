import type { App } from '../app.ts';
import { startControlServer } from '../gateway/control.ts';
import type { RedactFrame } from '../gateway/control-server.ts';
import { LocalAssistant } from '../gateway/local-assistant.ts';
import { uploaded } from '../../app/gateway/files.ts';
import { serveHttp } from '../../app/gateway/http.ts';

/**
 * The assistant for terminals, the control socket and programs; in a gateway for HTTP too, at `port` instead of the
 * configured one. The stack ends it all.
 */
export async function serve(app: App, port: number | undefined, stack: AsyncDisposableStack): Promise<LocalAssistant> {
  const { paths, clock, log, redact, version } = app;
  const local = new LocalAssistant(app);
  const redactFrame: RedactFrame = (line, { showsRuns }) => redact(line, showsRuns ? { knownBy: 'value' } : {});
  stack.use(
    await startControlServer({ path: paths.socket, version, assistant: local, log, clock, redact: redactFrame }),
  );
  if (app.servesHttp) {
    const server = stack.use(await serveHttp(app, { assistant: local, port }));
    app.http.address = server.address;
    app.http.newLink = server.newLink;
    app.http.changed = server.changed;
    app.http.upload = (id) => uploaded(app, id);
  }
  return local;
}
