import type { Operation } from './operations/operation.ts';
import type { AssistantInfo } from './assistant-info.ts';
import type { OwnAssistant } from './assistant-port.ts';
import { OperationTable } from './operations/call.ts';
import { OPERATIONS } from './operations/operations.ts';

/** An assistant that answers only `info`. `more`: operations of extensions. */
export function infoOnly(
  more: readonly Operation[],
  info: () => Promise<AssistantInfo>,
  refuse: () => never,
): OwnAssistant {
  const call = async (name: string): Promise<unknown> =>
    name === 'info' ? { ...(await info()), transcription: false, operations: ['info'] } : refuse();
  return {
    operations: new OperationTable([...OPERATIONS, ...more]),
    // `info` is the only operation that returns, and its type is right.
    call: call as OwnAssistant['call'],
    open: refuse,
  };
}
