import {
  type DeclaredAction,
  defineTool,
  type EffectTarget,
  escapeControlChars,
  fetchAction,
  type FileAccess,
  type GuardedFetch,
  type Planned,
  type Tool,
  type ToolContext,
  type ToolResult,
  withScheme,
} from '../../core/api-tools.ts';
import { AppError, cut } from '../../core/api.ts';
import type { Browsers } from './browsers.ts';
import { pageResult, type ResultPorts } from './page-result.ts';
import type { ChildAction } from './protocol.ts';
import { SiteUse } from './site-use.ts';
import { DESCRIPTION, KEYS, parameters, type BrowserParams } from './spec.ts';
import { download, downloadPath, downloadQuestion, upload, uploadQuestion } from './transfers.ts';

export interface BrowserToolOptions extends ResultPorts {
  readonly browsers: Browsers;
  readonly fetch: GuardedFetch;
  readonly files: FileAccess;
  /** @default a new one */
  readonly siteUse?: SiteUse;
}

type Action = BrowserParams['action'];

/** What is chosen on a page, as its answer can tell which of many it was. */
const CHOICES: ReadonlySet<Action> = new Set(['click', 'select', 'press', 'back', 'scroll']);
/** What a page may send something after: the owner is then asked. */
const ACTS: ReadonlySet<Action> = new Set(['click', 'type', 'select', 'press', 'upload']);
const LONGEST_SHOWN = 2_000;

/**
 * The tool `browser`: pages in a browser of the session's own, in a sandbox, behind the guarded proxy. Its results are
 * untrusted. What is typed is asked about like an address that the model composed; what pages send, downloads and uploads
 * are always asked about.
 */
export function browserTool(options: BrowserToolOptions): Tool {
  const { browsers, fetch, files, siteUse = new SiteUse() } = options;
  const pageOf = ({ call }: ToolContext): string => browsers.get(call.sessionKey)?.view.url ?? 'about:blank';
  const perform = async (params: BrowserParams, context: ToolContext): Promise<ToolResult> => {
    const { action } = params;
    const { sessionKey } = context.call;
    if (action === 'close') {
      await browsers.close(sessionKey);
      return {
        title: 'closed the browser',
        output: 'The browser is closed. Its logins are kept for this conversation.',
        metadata: {},
      };
    }
    if (action === 'download') return await downloaded(params, context, options);
    const before = pageOf(context);
    context.people.progress(`browser: ${action}`);
    return await browsers.use(sessionKey, { starts: action === 'open', signal: context.signal }, async (browser) => {
      if (CHOICES.has(action)) siteUse.chose(sessionKey, before);
      if (context.approval !== null && (CHOICES.has(action) || action === 'type')) siteUse.allow(sessionKey, before);
      const { path = '', ref, allowSending = false } = params;
      const acted =
        action === 'upload'
          ? await upload({ path, ref }, { files, browser, context })
          : await browser.act(childAction(params), context, ACTS.has(action) || allowSending);
      const site = URL.canParse(acted.view.url) ? new URL(acted.view.url).host : acted.view.url;
      const did = action === 'open' ? `opened ${site}` : `${action} on ${site}`;
      return await pageResult(did, acted, { ports: options, context, isPrivate: browser.isPersonal });
    });
  };
  return defineTool({
    name: 'browser',
    description: DESCRIPTION,
    parameters,
    effect: 'effect',
    role: 'owner',
    // It waits for people in the middle of a call, and has deadlines of its own.
    waits: true,
    untrusted: true,
    plan: async (params, context): Promise<Planned> => {
      const { action, url = '', path } = params;
      const address = withScheme(url);
      const about: readonly EffectTarget[] =
        action === 'download' ? [{ kind: 'file', target: downloadPath(address, path) }] : [];
      const problem = missing(params);
      if (problem !== null) return { denied: problem, about };
      const run = (signal: AbortSignal): Promise<ToolResult> => perform(params, { ...context, signal });
      if (action === 'open' || action === 'download') {
        const checked = await fetch.checkUrl(address);
        if (checked.decision === 'deny') return { denied: checked.reason, about };
        const reaches = {
          ...(await fetchAction(address, { fetch, conversation: context.conversation })),
          title: 'Open a web page',
        };
        if (action === 'open') return { run, reaches, about };
        const asks = await downloadQuestion(checked.url, downloadPath(address, path), { files, context });
        return 'denied' in asks ? { ...asks, about } : { run, asks, reaches, about };
      }
      const page = pageOf(context);
      if (action === 'upload') {
        const given = await uploadQuestion(path ?? '', page, { files, context });
        return 'denied' in given
          ? { ...given, about }
          : { run, asks: given.asks, covers: { page, file: given.hash }, about };
      }
      return {
        run,
        covers: { page },
        reaches: await inputAction(params, context, { browsers, fetch, siteUse }),
        about,
      };
    },
  });
}

async function downloaded(
  { url = '', path }: BrowserParams,
  context: ToolContext,
  { browsers, fetch, files }: BrowserToolOptions,
): Promise<ToolResult> {
  const address = withScheme(url);
  const browser = browsers.get(context.call.sessionKey);
  return await download({ url: address, path: downloadPath(address, path) }, { files, fetch, browser, context });
}

/** What typing, or one more choice on a site, would carry to it; undefined: nothing that has to be asked about. */
async function inputAction(
  params: BrowserParams,
  { call }: ToolContext,
  {
    browsers,
    fetch,
    siteUse,
  }: { readonly browsers: Browsers; readonly fetch: GuardedFetch; readonly siteUse: SiteUse },
): Promise<DeclaredAction | undefined> {
  const { action } = params;
  const view = browsers.get(call.sessionKey)?.view;
  if (view === undefined) return undefined;
  const isChoice = CHOICES.has(action) && siteUse.isUsedUp(call.sessionKey, view.url);
  if (action !== 'type' && !isChoice) return undefined;
  const checked = await fetch.checkUrl(view.url);
  const hostAllowed = checked.decision === 'allow' && checked.opened;
  const { host } = URL.canParse(view.url) ? new URL(view.url) : { host: view.url };
  const shown = fieldsOf(params).map(
    ({ ref, text }) => `${elementLine(view.snapshot, ref)}${text === null ? '' : `: ${text}`}`,
  );
  return {
    action: { kind: 'page-input', hostAllowed },
    title: action === 'type' ? `Type into a page of ${host}` : `Go on using the pages of ${host}`,
    detail: [cut(view.url, LONGEST_SHOWN), ...shown].map(escapeControlChars).join('\n'),
  };
}

function fieldsOf({ action, ref = '', text, fields }: BrowserParams): readonly { ref: string; text: string | null }[] {
  if (action === 'type') return fields ?? [{ ref, text: text ?? '' }];
  return [{ ref, text: `${action}${text === undefined ? '' : ` ${text}`}` }];
}

/** An element as the newest snapshot calls it, for people. */
function elementLine(snapshot: string, ref: string): string {
  const line = snapshot.split('\n').find((one) => one.includes(`[ref=${ref}]`)) ?? '';
  const words = line.replace(/\s*\[ref=.*$/u, '').replace(/^\s*-\s*/u, '');
  return words === '' ? 'the page' : cut(words, 200);
}

function childAction(params: BrowserParams): ChildAction {
  const { action, url = '', ref = '', text = '', submit = false } = params;
  switch (action) {
    case 'open':
      return { act: 'open', url: withScheme(url) };
    case 'click':
      return { act: 'click', ref };
    case 'type':
      return { act: 'type', fields: params.fields ?? [{ ref, text }], submit };
    case 'select':
      return { act: 'select', ref, options: [text] };
    case 'press':
      return { act: 'press', key: text, ref: params.ref };
    case 'scroll':
      return { act: 'scroll', up: text === 'up' };
    case 'back':
    case 'screenshot':
    case 'snapshot':
      return { act: action };
    default:
      throw new AppError('browser-action', `${action} is not done by the page.`);
  }
}

/** What a call lacks, as a sentence; null: nothing. */
function missing({ action, url, ref, text, path, fields }: BrowserParams): string | null {
  const need = (field: string): string => `The action ${action} needs ${field}.`;
  switch (action) {
    case 'open':
    case 'download':
      return url === undefined ? need('url') : null;
    case 'click':
      return ref === undefined ? need('ref') : null;
    case 'type':
      return fields === undefined && (ref === undefined || text === undefined) ? need('ref and text, or fields') : null;
    case 'select':
      return ref === undefined || text === undefined ? need('ref and text') : null;
    case 'press':
      return text === undefined || !KEYS.has(text)
        ? need(`text with one of these keys: ${[...KEYS].join(', ')}`)
        : null;
    case 'upload':
      return path === undefined ? need('path') : null;
    default:
      return null;
  }
}
