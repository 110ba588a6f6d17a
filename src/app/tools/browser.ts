import { join } from 'node:path';
import { createSandbox, type Sandbox } from '../../security/sandbox/sandbox.ts';
import type { GuardedFetch } from '../../security/fetch/fetch.ts';
import { browserTool } from '../../tools/browser/browser-tool.ts';
import { Browsers } from '../../tools/browser/browsers.ts';
import { encloseBrowser } from '../../tools/browser/enclosure.ts';
import type { FoundBrowser } from '../../tools/browser/installed.ts';
import type { ResultPorts } from '../../tools/browser/page-result.ts';
import { SiteUse } from '../../tools/browser/site-use.ts';
import type { FileAccess } from '../../tools/files/access.ts';
import type { Tool } from '../../tools/tool.ts';
import { sentences } from '../../util/text.ts';
import type { Base } from '../base.ts';
import { lookForBrowser } from './browser-state.ts';
import type { Stores } from '../storage/stores.ts';

/** The browsers of this process, and the tool that uses them. */
export interface BrowserPart extends AsyncDisposable {
  /** Null: it is not enabled, or something that it needs is not there. */
  readonly tool: Tool | null;
  /** Ends the browser of a session and removes its profile. Never rejects. */
  readonly forget: (sessionKey: string) => Promise<void>;
  /** Why the browser does not work although it is enabled; null: it does, or it is not. Never rejects. */
  readonly trouble: () => Promise<string | null>;
}

interface BrowserParts extends Pick<ResultPorts, 'maxChars' | 'spill' | 'keepImage'> {
  readonly stores: Pick<Stores, 'journal'>;
  readonly fetch: GuardedFetch;
  readonly files: FileAccess;
}

const MB = 1024 ** 2;

/** How the part is made; loaded where it is enabled. */
export type OpenBrowser = typeof createBrowser;

/** No browser is started and no sandbox tested before the first use. */
export function createBrowser(base: Base, { stores, fetch, files, ...ports }: BrowserParts): BrowserPart {
  const { config, paths, clock, log } = base;
  const settings = config.tools.browser;
  const looked = lookForBrowser(config, paths);
  if (looked === null || looked.found === null) {
    const why = looked === null ? null : troubleOf(looked);
    return { tool: null, forget: async () => {}, trouble: async () => why, [Symbol.asyncDispose]: async () => {} };
  }
  const program = looked.found;
  const sandbox = browserSandbox(base);
  const browsers = new Browsers({
    folder: join(paths.browser, 'sessions'),
    most: settings.maxSessions,
    idleMs: settings.idleMinutes * 60_000,
    enclose: (folder, options) => encloseBrowser(program, { sandbox, home: paths.home, folder, options }),
    startProxy: async (path, options) => {
      const { startGuardedProxy } = await import('../../security/proxy/proxy.ts');
      return await startGuardedProxy(path, { ...config.tools.web, ...options, clock });
    },
    clock,
    log,
  });
  const siteUse = new SiteUse();
  stores.journal.inbox.onStop(({ stop }) => void browsers.close(stop.sessionKey, true));
  return {
    tool: browserTool({ ...ports, browsers, fetch, files, siteUse }),
    forget: async (sessionKey) => {
      siteUse.forget(sessionKey);
      await browsers.forget(sessionKey);
    },
    trouble: async () => {
      const probe = await sandbox.probe();
      return probe.available ? null : sentences('There is no sandbox, so there is no browser', probe.reason);
    },
    [Symbol.asyncDispose]: async () => {
      await browsers[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

function troubleOf({ reason, remedy }: Extract<FoundBrowser, { found: null }>): string {
  return sentences('The tool browser is enabled but does not work', reason, `To change that: ${remedy}`);
}

/** Its memory is counted apart from that of commands. */
function browserSandbox({ config, paths, clock, random }: Base): Sandbox {
  return createSandbox({
    home: paths.home,
    workspace: paths.workspace,
    folder: join(paths.sandbox, 'browser'),
    readRoots: [],
    limits: { memoryBytes: config.tools.browser.memoryMegabytes * MB },
    clock,
    random,
  });
}
