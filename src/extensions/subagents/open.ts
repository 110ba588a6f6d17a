import type { App, Contributions } from '../../core/api.ts';
import { subagentOf } from '../../core/api-turns.ts';
import { maxSubagents } from './settings.ts';
import { spawnTool } from './tool.ts';

export function openSubagents(app: App): Contributions {
  return {
    tools: app.settingsOf(maxSubagents) > 0 ? [spawnTool(app)] : [],
    status: (session): Readonly<Record<string, string>> => {
      const lines = subagentLines(app, session);
      return lines.length === 0 ? {} : { Subagents: lines.join(', ') };
    },
  };
}

/** What each subagent that waits or runs is; `session`: only those it spawned, null: all. */
function subagentLines({ journal, clock }: App, session: string | null): readonly string[] {
  return journal.subagents.open().flatMap(({ message, state }) => {
    const task = subagentOf(message);
    if (task === null || (session !== null && task.session !== session)) return [];
    const minutes = Math.floor((clock.now() - message.receivedAt) / 60_000);
    return [`"${task.label}" (${state}, ${minutes} min)`];
  });
}
