/** What a request holds: text from strangers, and what is private to the owner. */
export interface TaintBits {
  readonly untrusted: boolean;
  readonly private: boolean;
  /** Where text from others came from, as a person calls it: `a web page`. @default not known */
  readonly source?: string;
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
      /** Which of many addresses of one host that only strangers gave is fetched could spell something out. */
      readonly selected: boolean;
    }
  /** To a chat that is not the one of the request: whoever reads it takes it for the owner's wish. */
  | { readonly kind: 'message-other-chat' }
  /** A command that nothing keeps from the network. */
  | { readonly kind: 'networked-exec' }
  /** Something of the owner's, such as the text of a file, would stand in a group's chat. */
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
 * The one table of what a request with strangers' text in it may do without a person's yes. A fetch that could carry
 * private things out is asked about when both bits are set. All else is asked about whenever strangers' text is there: a
 * lasting write leaves behind what is read later, in conversations that do not carry the bit; a message to another chat
 * says what strangers like in the owner's name; a command with a network reads files and sends them by itself; and in a
 * group the strangers read the answer.
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
    case 'other':
      return ALLOW;
  }
}
