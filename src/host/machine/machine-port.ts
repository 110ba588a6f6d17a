import type { AssistantInfo } from '../../core/gateway/assistant-info.ts';
import type { OwnAssistant } from '../../core/gateway/assistant-port.ts';
import { infoOnly } from '../../core/gateway/info-only.ts';
import type { Program } from '../../core/program.ts';
import { AppError } from '../../core/util/errors.ts';
import type { Runs } from '../../core/library/run.ts';

/** What the gateway of a machine answers itself: how its homes are. Everything else is for one of them, which has to be named. */
export function machinePort(
  { operations }: Pick<Program, 'operations'>,
  info: () => Promise<AssistantInfo>,
  /** Says that one has to be named. */
  nameHome: () => string,
): OwnAssistant & Runs {
  const refuse = (): never => {
    throw new AppError('name-a-home', nameHome());
  };
  return { ...infoOnly(operations, info, refuse), run: async () => refuse(), stream: refuse };
}
