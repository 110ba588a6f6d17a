import type { EntryDraft, EntryOf, TapeEntry } from '../../src/core/session/entry.ts';
import { stamp } from '../session/tapes.ts';

/** Entries of one turn, for tests of what is read from them. */

const turn = 'T';

export const asks = (text = 'hi'): EntryDraft => ({
  kind: 'message',
  role: 'user',
  turn,
  sources: ['m'],
  content: [{ type: 'text', text }],
});

export const note = (text: string): EntryDraft => ({
  kind: 'message',
  role: 'user',
  turn,
  sources: [],
  content: [{ type: 'text', text }],
});

interface ModelMessageDraft {
  readonly calls?: readonly { readonly callId: string; readonly name?: string; readonly arguments?: string }[];
  readonly stopReason?: string;
  readonly provider?: string;
  readonly model?: string;
}

export const says = (text: string, { calls = [], ...rest }: ModelMessageDraft = {}): EntryDraft => ({
  kind: 'message',
  role: 'assistant',
  turn,
  content: [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map((call) => ({
      type: 'tool-call' as const,
      providerCallId: '',
      name: 'exec',
      arguments: '{}',
      ...call,
    })),
  ],
  provider: 'p',
  model: 'm',
  stopReason: 'stop',
  usage: null,
  ...rest,
});

export const gives = (
  callId: string,
  output: string,
  name = 'exec',
  effects: Extract<EntryOf<'message'>, { role: 'tool' }>['effects'] = [],
): EntryDraft => ({
  kind: 'message',
  role: 'tool',
  turn,
  callId,
  name,
  output,
  isError: false,
  effects,
});

export const entries = (...drafts: EntryDraft[]): readonly TapeEntry[] => stamp(drafts);
