import { join } from 'node:path';
import { createSandbox } from '../../core/api-sandbox.ts';
import { sentences, type App, type Contributions } from '../../core/api.ts';
import { Browser } from './browser.ts';
import { Browsers } from './browsers.ts';
import { findBrowser } from './program.ts';
import { browser } from './settings.ts';
import { browserTool } from './tool.ts';

const MB = 1024 ** 2;
/** What the doctor looks at too. */
const BROWSER = { id: 'browser.works', state: 'failed' } as const;

/** The tool and the browsers of this process. None is started and no sandbox tested before the first use. */
export function openBrowser(app: App): Contributions {
  const { paths, clock, config, random } = app;
  const settings = app.settingsOf(browser);
  const program = findBrowser(settings, paths);
  if ('reason' in program) {
    const { reason, remedy } = program;
    const says = sentences('The tool browser is enabled but does not work', reason);
    return { troubles: () => [{ ...BROWSER, says, remedy, lead: 'To change that' }] };
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
  const web = config.tools.web;
  const browsers = new Browsers(app, (folder) => Browser.start(folder, { program, sandbox, web, clock }));
  app.journal.inbox.onStop(({ stop }) => void browsers.close(stop.sessionKey, true));
  return {
    tools: [browserTool(app, browsers)],
    forget: (sessionKey) => browsers.forget(sessionKey),
    troubles: async () => {
      const probe = await sandbox.probe();
      if (probe.available) return [];
      return [
        { ...BROWSER, says: sentences('There is no sandbox, so there is no browser', probe.reason), remedy: null },
      ];
    },
    close: async () => {
      await browsers[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}
