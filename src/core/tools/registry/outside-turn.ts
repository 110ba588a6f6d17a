import { NO_SKILLS, type CallLimits, type CallPeople, type ToolContext } from '../tool.ts';

/** The context of a call that a person makes directly: untainted, without a conversation, and with no one to ask but `approve`. */
export function contextOutsideTurn({
  approve,
  withheld = () => null,
  ...given
}: Pick<ToolContext, 'signal' | 'call' | 'person' | 'files'> &
  Pick<CallPeople, 'approve'> &
  Partial<Pick<CallLimits, 'withheld'>>): ToolContext {
  return {
    ...given,
    conversation: { taint: { untrusted: false, private: false }, given: () => [], fetches: () => [] },
    limits: { skills: NO_SKILLS, withheld },
    people: {
      approve,
      rendered: async (text) => text,
      ask: async () => ({ answered: false, reason: 'no one can be asked here' }),
      progress: () => {},
    },
    approval: null,
    runPart: null,
  };
}
