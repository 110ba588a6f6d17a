import type { ModelChoice, StatusReport } from '../agent/commands/command.ts';
import { helpCommand } from '../agent/commands/help.ts';
import { modelCommand } from '../agent/commands/model.ts';
import { newCommand } from '../agent/commands/new.ts';
import { retryCommand } from '../agent/commands/retry.ts';
import { statusCommand } from '../agent/commands/status.ts';
import { CommandTable } from '../agent/commands/table.ts';
import { usageCommand } from '../agent/commands/usage.ts';
import type { Journal } from '../journal/journal.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Clock } from '../util/clock.ts';
import { startOfDay } from '../util/day.ts';

export interface CommandParts {
  readonly journal: Journal;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly timezone: string | null;
  readonly models: Pick<ModelChoice, 'standard' | 'fullName'>;
  readonly status: (sessionKey: string) => Promise<StatusReport>;
}

/** Every chat command, joined with what it reaches. */
export function createCommands(parts: CommandParts): CommandTable {
  const { journal, sessions, clock, timezone, status } = parts;
  const models: ModelChoice = {
    ...parts.models,
    chosen: (sessionKey) => journal.settings.model(sessionKey),
    choose: (sessionKey, model) => journal.settings.setModel(sessionKey, model),
  };
  const resetSession = async (sessionKey: string, reason: string): Promise<void> => {
    const session = await sessions.open(sessionKey);
    await session.append([{ kind: 'reset', turn: null, reason }]);
  };
  const table: CommandTable = new CommandTable({
    commands: [
      helpCommand({ commands: (role) => table.of(role) }),
      newCommand({ resetSession }),
      retryCommand({ lastTurn: (sessionKey) => journal.turns.last(sessionKey) }),
      statusCommand({ status }),
      usageCommand({
        usage: (since, sessionKey) => journal.usage.since(since, sessionKey),
        today: () => startOfDay(clock.now(), timezone),
      }),
      modelCommand(models),
    ],
  });
  return table;
}
