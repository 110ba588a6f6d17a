import { join } from 'node:path';
import { createSandbox } from '../../core/api-sandbox.ts';
import { PAGE_MARGIN } from '../../core/api-tools.ts';
import { sentences, type App, type Contributions } from '../../core/api.ts';
import { browserTool } from './browser-tool.ts';
import { Browsers } from './browsers.ts';
import { startChild } from './enclosure.ts';
import { browser } from './settings.ts';
import { SiteUse } from './site-use.ts';
import { lookForBrowser } from './state.ts';

const MB = 1024 ** 2;

/** The tool and the browsers of this process. None is started and no sandbox tested before the first use. */
export function openBrowser(app: App): Contributions {
  const { paths, clock, log, config, random } = app;
  const settings = app.settingsOf(browser);
  const looked = lookForBrowser(settings, paths);
  if (looked.found === null) {
    const { reason, remedy } = looked;
    const why = sentences('The tool browser is enabled but does not work', reason, `To change that: ${remedy}`);
    return { troubles: () => [why] };
  }
  // Its memory is counted apart from that of commands.
  const sandbox = createSandbox({
    protectedFolders: [],
    home: paths.home,
    workspace: paths.workspace,
    folder: join(paths.sandbox, 'browser'),
    readRoots: [],
    limits: { memoryBytes: settings.memoryMegabytes * MB },
    clock,
    random,
  });
  const browsers = new Browsers({
    folder: join(paths.browser, 'sessions'),
    most: settings.maxSessions,
    idleMs: settings.idleMinutes * 60_000,
    startChild: (folder, options) => startChild(looked.found, { sandbox, folder, options, clock }),
    startProxy: async (path, options) => {
      const { startGuardedProxy } = await import('../../core/api-proxy.ts');
      return await startGuardedProxy(path, { ...config.tools.web, ...options, clock });
    },
    clock,
    log,
  });
  const siteUse = new SiteUse();
  app.journal.inbox.onStop(({ stop }) => void browsers.close(stop.sessionKey, true));
  const tool = browserTool({
    maxChars: config.agent.toolResultChars - PAGE_MARGIN,
    spill: ({ sessionKey, id }, output) => app.spill.put(sessionKey, id, output),
    keepImage: app.files.keepImage,
    browsers,
    fetch: app.fetch,
    files: app.files,
    siteUse,
  });
  return {
    tools: [tool],
    forget: async (sessionKey) => {
      siteUse.forget(sessionKey);
      await browsers.forget(sessionKey);
    },
    troubles: async () => {
      const probe = await sandbox.probe();
      return probe.available ? [] : [sentences('There is no sandbox, so there is no browser', probe.reason)];
    },
    close: async () => {
      await browsers[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}
