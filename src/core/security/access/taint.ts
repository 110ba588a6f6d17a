/** The marks of a request: it contains untrusted content, and text that is private to the owner. */
export interface TaintBits {
  readonly untrusted: boolean;
  readonly private: boolean;
  /** Where the untrusted content came from, as a person calls it: `a web page`. @default unknown */
  readonly source?: string;
}

/** Targets of a write that has effects after the conversation. */
export type LastingTarget = 'memory' | 'bootstrap' | 'skills' | 'cron' | 'mcp' | 'config';

/** The actions of which nothing else has to be known. */
const PLAIN_ACTIONS = [
  'search-web',
  'foreign-tool',
  'message-other-chat',
  'networked-exec',
  'show-to-group',
  'irreversible',
  'other',
] as const;

export const ACTION_KINDS = ['fetch-url', 'page-input', 'lasting-write', ...PLAIN_ACTIONS] as const;

/** What a call does, as `taintDecision` needs it. */
export type TaintAction =
  | {
      readonly kind: 'fetch-url';
      /** The model made the URL itself; see `urlOrigin`. */
      readonly composed: boolean;
      /** The configuration allows its host. */
      readonly hostAllowed: boolean;
      /** Only outsiders named it, and their free choices are used up, see `FreeChoices`. */
      readonly selected: boolean;
    }
  | { readonly kind: 'page-input'; /** The configuration allows its host. */ readonly hostAllowed: boolean }
  | { readonly kind: 'lasting-write'; readonly target: LastingTarget }
  | { readonly kind: (typeof PLAIN_ACTIONS)[number] };

export type TaintDecision =
  | { readonly decision: 'allow' }
  /** `reason`: a clause for the person who is asked, without a full stop. */
  | { readonly decision: 'ask'; readonly reason: string };

const LASTING = {
  memory: 'what is remembered shapes every later answer',
  bootstrap: 'this file shapes what the assistant does from now on',
  skills: 'a skill shapes what the assistant does from now on',
  cron: 'a scheduled job runs again and again by itself',
  mcp: 'an MCP server runs and answers from now on',
  config: 'the configuration shapes what the assistant does from now on',
} as const satisfies Record<LastingTarget, string>;

/**
 * What needs a person's approval once untrusted content is in the conversation: the table of docs/security.md. `also`: it
 * needs one in a conversation that isn't private, too.
 */
export const SINKS = {
  composed: {
    what: 'fetching a web address that no person said and no fetched page or search named. Hosts in `tools.web.allowHosts` need no approval',
    also: false,
    why: 'an address that no one gave could carry private things out',
  },
  selected: {
    what: 'fetching an address that only others named, or choosing something on a web page: each after the third in a chat within 24 hours, whatever the site',
    also: false,
    why: 'which of many addresses is fetched, or what is chosen on a page, could carry private things out',
  },
  'page-input': {
    what: 'typing into a web page, and whatever a web page sends',
    also: false,
    why: 'what is typed on a page reaches its site and could carry private things out',
  },
  'search-web': {
    what: 'searching the web for a number or code that no person or page named; a year or a date needs no approval',
    also: false,
    why: 'a search for something that no one gave could carry private things out',
  },
  'foreign-tool': {
    what: 'a tool that isn’t built in (MCP, plugins), unless you agreed that it only reads',
    also: false,
    why: 'this tool isn’t built in, so it could carry private things out or change something',
  },
  irreversible: {
    what: 'removing all that was said before from the conversation (`tape reset`)',
    also: false,
    why: 'this can’t be undone',
  },
  'networked-exec': {
    what: 'a command that could use the network, in the sandbox or outside, in every mode',
    also: true,
    why: 'a command with access to the network could carry private things out',
  },
  'message-other-chat': {
    what: 'a message or a file to another chat',
    also: true,
    why: 'a message to another chat is sent in your name',
  },
  'lasting-write': {
    what: 'lasting writes: memory, bootstrap files, skills, jobs (pausing or deleting one counts too)',
    also: true,
    why: LASTING,
  },
  'show-to-group': {
    what: 'in a group: reading, searching, listing or sending files; the memory; the output of commands and of tools that aren’t built in',
    also: true,
    why: 'everybody in this group would read what it shows',
  },
} as const;

/** Decides which actions of a request with untrusted content need a person's approval. */
export function taintDecision({
  taint,
  action,
}: {
  readonly taint: TaintBits;
  readonly action: TaintAction;
}): TaintDecision {
  const sink = sinkOf(action);
  if (sink === null || !taint.untrusted || !(taint.private || SINKS[sink].also)) return { decision: 'allow' };
  const why = action.kind === 'lasting-write' ? LASTING[action.target] : whyOf(SINKS[sink]);
  return {
    decision: 'ask',
    reason: `this conversation contains text from ${taint.source ?? 'outside'}, and ${why}`,
  };
}

/** Lasting writes have a reason for each target. */
const whyOf = ({ why }: (typeof SINKS)[keyof typeof SINKS]): string => (typeof why === 'string' ? why : why.memory);

/** The row of an action; null: it needs no approval whatever the conversation contains. */
function sinkOf(action: TaintAction): keyof typeof SINKS | null {
  if (action.kind === 'other' || ('hostAllowed' in action && action.hostAllowed)) return null;
  if (action.kind !== 'fetch-url') return action.kind;
  if (action.composed) return 'composed';
  return action.selected ? 'selected' : null;
}
