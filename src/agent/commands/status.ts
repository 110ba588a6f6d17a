import { plural } from '../../util/text.ts';
import type { Command } from './command.ts';

export const statusCommand: Command = {
  name: 'status',
  description: 'what is running, which model, how much was used',
  role: 'guest',
  priority: true,
  interrupts: false,
  run: async ({ message, ports }) => {
    const status = ports.status(message.sessionKey);
    const lines = [
      `**assistant ${status.version}**, up ${duration(status.uptimeMs)}`,
      `Model: \`${status.model}\``,
      `Here today: ${status.tokensToday.toLocaleString('en')} tokens`,
    ];
    if (message.role === 'owner') {
      lines.push(
        `Running: ${plural(status.runningTurns, 'turn')}; waiting: ${plural(status.waitingMessages, 'message')}, ${plural(status.waitingReplies, 'reply', 'replies')} to send`,
        ...Object.entries(status.channels).map(
          ([name, { state, detail }]) => `- ${name}: ${state}${detail === undefined ? '' : ` (${detail})`}`,
        ),
        ...status.warnings.map((warning) => `⚠ ${warning}`),
      );
    }
    return lines.join('\n');
  },
};

function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`;
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : plural(Math.floor(hours / 24), 'day');
}
