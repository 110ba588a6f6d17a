import { localRole } from '../security/access/access.ts';
import type { IdFactory } from '../util/ids.ts';
import type { ToolRegistry } from './registry/registry.ts';
import { NO_SKILLS, type CallLimits, type CallPeople, type ToolContext, type ToolResult } from './tool.ts';

interface OnceOptions {
  readonly workspace: string;
  readonly newId: IdFactory;
}

interface OnceReport {
  readonly decision: 'allow' | 'ask' | 'deny';
  readonly reason: string | null;
  /** Null when it did not run. */
  readonly result: { title: string; output: string; metadata: ToolResult['metadata']; isError: boolean } | null;
}

/**
 * Runs one tool for the owner outside a turn, with the same registry and policy as in a turn. A call that needs an approval
 * is not run, because no one can be asked.
 */
export async function runToolOnce(
  registry: ToolRegistry,
  call: { readonly name: string; readonly arguments: string; readonly dryRun: boolean },
  options: OnceOptions,
): Promise<OnceReport> {
  const id = options.newId();
  const context = contextOutsideTurn({
    signal: new AbortController().signal,
    call: { id: `${id}.1`, turnId: id, sessionKey: 'terminal:tools', messageId: id },
    person: {
      role: localRole('control-socket'),
      origin: 'user',
      who: 'terminal:owner',
      chatType: 'direct',
      chat: null,
    },
    files: { workingDirectory: options.workspace, readRoots: [] },
    approve: async () => ({ approved: false, reason: 'no one can be asked here' }),
  });
  const decision = await registry.decide(call, context);
  const reason = decision.decision === 'allow' ? null : decision.reason;
  if (call.dryRun || decision.decision !== 'allow') return { decision: decision.decision, reason, result: null };
  const { title, output, note = '', metadata, isError } = await registry.run(call, context);
  const text = [output, note].filter((part) => part !== '').join('\n');
  return { decision: 'allow', reason, result: { title, output: text, metadata, isError: isError === true } };
}

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
    conversation: { taint: { untrusted: false, private: false }, said: () => [], takeFreeChoice: async () => true },
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
