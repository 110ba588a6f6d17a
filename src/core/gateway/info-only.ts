import type { Operation } from './operations/operation.ts';
import type { AssistantInfo } from './assistant-info.ts';
import type { OwnAssistant } from './assistant-port.ts';
import { OperationTable } from './operations/call.ts';
import { OPERATIONS } from './operations/operations.ts';

/** What says how it is, and refuses everything else. `more`: the operations of extensions. */
export function infoOnly(
  more: readonly Operation[],
  info: () => Promise<AssistantInfo>,
  refuse: () => never,
): OwnAssistant {
  const call = async (name: string): Promise<unknown> =>
    name === 'info' ? { ...(await info()), transcription: false, operations: ['info'] } : refuse();
  return {
    operations: new OperationTable([...OPERATIONS, ...more]),
    // What `info` answers is what is asked of it.
    call: call as OwnAssistant['call'],
    open: refuse,
  };
}
