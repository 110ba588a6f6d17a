import type { AssistantInfo } from '../../core/gateway/assistant-info.ts';
import type { OwnAssistant } from '../../core/gateway/assistant-port.ts';
import { OperationTable } from '../../core/gateway/operations/call.ts';
import { OPERATIONS } from '../../core/gateway/operations/operations.ts';
import type { Program } from '../../core/program.ts';
import { AppError } from '../../core/util/errors.ts';
import type { Assistant } from '../../core/library/assistant.ts';

/** What the gateway of a machine answers itself: how its homes are. Everything else is for one of them, which has to be named. */
export function machinePort(
  { operations }: Pick<Program, 'operations'>,
  info: () => Promise<AssistantInfo>,
  /** Says that one has to be named. */
  nameHome: () => string,
): Omit<Assistant & OwnAssistant, 'close' | 'markCrashed' | 'alive' | 'reload' | 'log' | typeof Symbol.asyncDispose> {
  const refuse = (): never => {
    throw new AppError('name-a-home', nameHome());
  };
  return {
    operations: new OperationTable([...OPERATIONS, ...operations]),
    info,
    tools: async () => refuse(),
    runTool: async () => refuse(),
    request: async () => refuse(),
    send: async () => refuse(),
    attach: refuse,
    run: async () => refuse(),
    stream: refuse,
  };
}
