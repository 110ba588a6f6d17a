import {
  NO_SKILLS,
  type ActiveSkills,
  type CallConversation,
  type CallFiles,
  type CallIds,
  type CallLimits,
  type CallPeople,
  type CallPerson,
  type RunPart,
  type ToolContext,
} from '../../src/core/tools/tool.ts';

/** What a test says of a call, without its groups. */
export interface TestCall
  extends Omit<CallIds, 'id'>, CallPerson, CallFiles, CallConversation, CallPeople, Pick<CallLimits, 'withheld'> {
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly skills: ActiveSkills;
  /** What a person allowed. */
  readonly approved: string;
  /** Whether what would run now differs from that. */
  readonly changed: () => Promise<boolean>;
  readonly runPart: RunPart;
}

/** The context of a call by the owner in a direct chat, whom nobody can ask; a test names what is different. */
export function testToolContext(different: Partial<TestCall> = {}): ToolContext {
  const nothing = async (): Promise<{
    readonly approved: false;
    readonly answered: false;
    readonly reason: string;
  }> => ({
    approved: false,
    answered: false,
    reason: 'nobody is there',
  });
  const {
    callId = 'turn-1.1',
    turnId = 'turn-1',
    sessionKey = 'terminal:test',
    messageId = 'message-1',
    signal = new AbortController().signal,
    role = 'owner',
    origin = 'user',
    who = null,
    chatType = 'direct',
    chat = null,
    workingDirectory = '/nowhere',
    readRoots = [],
    roots = [],
    store,
    taint = { untrusted: false, private: false },
    said = () => [],
    takeFreeChoice = async () => true,
    skills = NO_SKILLS,
    withheld = () => null,
    approve = nothing,
    ask = nothing,
    progress = () => {},
    approved,
    changed = async () => false,
    runPart = null,
  } = different;
  return {
    signal,
    call: { id: callId, turnId, sessionKey, messageId },
    person: { role, origin, who, chatType, chat },
    files: { workingDirectory, readRoots, roots, store },
    conversation: { taint, said, takeFreeChoice },
    limits: { skills, withheld },
    people: { approve, ask, rendered: async (text) => text, progress },
    approval: approved === undefined ? null : { covers: approved, changed },
    runPart,
  };
}
