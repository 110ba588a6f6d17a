/** The marks of a request: it contains untrusted content, and text that is private to the owner. */
export interface TaintBits {
  readonly untrusted: boolean;
  readonly private: boolean;
  /** Where the untrusted content came from, as a person calls it: `a web page`. @default unknown */
  readonly source?: string;
}

/** Targets of a write that has effects after the conversation. */
export type LastingTarget = 'memory' | 'bootstrap' | 'skills' | 'cron' | 'mcp' | 'config';

/** What a call does, as `taintDecision` needs it. */
export type TaintAction =
  | {
      readonly kind: 'fetch-url';
      /** The model made the URL itself; see `urlOrigin`. */
      readonly composed: boolean;
      /** The configuration allows its host. */
      readonly hostAllowed: boolean;
      /** It is one of many URLs of one host that only untrusted content named, so the choice itself could carry information. */
      readonly selected: boolean;
    }
  /** Something is typed into a web page, or chosen on it once more than a few times. */
  | { readonly kind: 'page-input'; /** The configuration allows its host. */ readonly hostAllowed: boolean }
  /** A search for something with a digit that nobody said. */
  | { readonly kind: 'search-web' }
  /** A message to another chat than that of the request; its readers take it for the owner's wish. */
  | { readonly kind: 'message-other-chat' }
  /** A command that can use the network. */
  | { readonly kind: 'networked-exec' }
  /** Text of the owner, such as a file, would be shown in a group. */
  | { readonly kind: 'show-to-group' }
  | { readonly kind: 'lasting-write'; readonly target: LastingTarget }
  | { readonly kind: 'other' };

export type TaintDecision =
  | { readonly decision: 'allow' }
  /** `reason`: a clause for the person who is asked, without a full stop. */
  | { readonly decision: 'ask'; readonly reason: string };

const ALLOW: TaintDecision = { decision: 'allow' };

const LASTING = {
  memory: 'what is remembered shapes every later answer',
  bootstrap: 'this file shapes what the assistant does from now on',
  skills: 'a skill shapes what the assistant does from now on',
  cron: 'a scheduled job runs again and again by itself',
  mcp: 'an MCP server runs and answers from now on',
  config: 'the configuration shapes what the assistant does from now on',
} as const satisfies Record<LastingTarget, string>;

/**
 * Decides which actions of a request with untrusted content need a person's approval. A fetch, a search, or an input on a page that
 * could carry private text out needs one when both marks are set. All other actions need one whenever untrusted content is there:
 * - a lasting write is read later in conversations that do not have the mark;
 * - a message to another chat could say anything in the owner's name;
 * - a command with a network could read files and send them;
 * - in a group, the authors of the untrusted content may read the answer.
 */
export function taintDecision({
  taint,
  action,
}: {
  readonly taint: TaintBits;
  readonly action: TaintAction;
}): TaintDecision {
  if (!taint.untrusted) return ALLOW;
  const ask = (why: string): TaintDecision => {
    return { decision: 'ask', reason: `this conversation contains text from ${taint.source ?? 'outside'}, and ${why}` };
  };
  switch (action.kind) {
    case 'lasting-write':
      return ask(LASTING[action.target]);
    case 'message-other-chat':
      return ask('a message to another chat is sent in your name');
    case 'networked-exec':
      return ask('a command with access to the network could carry private things out');
    case 'show-to-group':
      return ask('everybody in this group would read what it shows');
    case 'fetch-url':
      if (!taint.private || action.hostAllowed) return ALLOW;
      if (action.composed) return ask('an address that no one gave could carry private things out');
      return action.selected
        ? ask('which of many addresses on one host is fetched could carry private things out')
        : ALLOW;
    case 'search-web':
      return taint.private ? ask('a search for something that no one gave could carry private things out') : ALLOW;
    case 'page-input':
      if (!taint.private || action.hostAllowed) return ALLOW;
      return ask('what is typed or chosen on a page reaches its site and could carry private things out');
    case 'other':
      return ALLOW;
  }
}
