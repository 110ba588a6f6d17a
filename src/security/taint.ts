/** What a request holds: text from strangers, and what is private to the owner. */
export interface TaintBits {
  readonly untrusted: boolean;
  readonly private: boolean;
}

/** What outlives the conversation that it was written in. */
export type LastingTarget = 'memory' | 'bootstrap' | 'skills' | 'cron' | 'mcp' | 'config';

/** What a call does, as far as taint is concerned. */
export type TaintAction =
  | {
      readonly kind: 'fetch-url';
      /** The model put the address together; see `urlOrigin`. */
      readonly composed: boolean;
      /** Its host is opened by the configuration. */
      readonly hostAllowed: boolean;
    }
  /** To a chat that is not the one of the request: whoever reads it takes it for the owner's wish. */
  | { readonly kind: 'message-other-chat' }
  /** A command that nothing keeps from the network. */
  | { readonly kind: 'networked-exec' }
  | { readonly kind: 'lasting-write'; readonly target: LastingTarget }
  | { readonly kind: 'other' };

export type TaintDecision =
  | { readonly decision: 'allow' }
  /** `reason`: a clause for the person who is asked, without a full stop. */
  | { readonly decision: 'ask'; readonly reason: string };

const ALLOW: TaintDecision = { decision: 'allow' };
const STRANGERS = 'this conversation holds text from strangers';

const LASTING = {
  memory: 'what is remembered shapes every later answer',
  bootstrap: 'this file shapes what the assistant does from now on',
  skills: 'a skill shapes what the assistant does from now on',
  cron: 'a scheduled job runs again and again by itself',
  mcp: 'an MCP server runs and answers from now on',
  config: 'the configuration shapes what the assistant does from now on',
} as const satisfies Record<LastingTarget, string>;

/**
 * The one table of what a request with strangers' text in it may do without a person's yes. What could carry private
 * things out is asked about when both bits are set. A lasting write is asked about whenever strangers' text is there:
 * what it leaves behind is read later, in conversations that do not carry the bit. So is a message to another chat: what
 * strangers could say to anybody in the owner's name.
 */
export function taintDecision({
  taint,
  action,
}: {
  readonly taint: TaintBits;
  readonly action: TaintAction;
}): TaintDecision {
  if (!taint.untrusted) return ALLOW;
  if (action.kind === 'lasting-write') return ask(LASTING[action.target]);
  if (action.kind === 'message-other-chat') return ask('a message to another chat is sent in your name');
  if (!taint.private) return ALLOW;
  switch (action.kind) {
    case 'fetch-url':
      if (!action.composed || action.hostAllowed) return ALLOW;
      return ask('an address that nobody gave could carry private things out');
    case 'networked-exec':
      return ask('a command with access to the network could carry private things out');
    case 'other':
      return ALLOW;
  }
}

function ask(why: string): TaintDecision {
  return { decision: 'ask', reason: `${STRANGERS}, and ${why}` };
}
