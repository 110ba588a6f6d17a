import type { App } from '../../app.ts';
import type { UsageSum } from '../../journal/usage.ts';
import { costText, countText, plural } from '../../util/text.ts';
import type { ChatCommand } from './command.ts';

export const statusCommand = (app: App): ChatCommand => ({
  name: 'status',
  description: 'how I am: model, conversation, cost, channels, troubles',
  role: 'guest',
  priority: true,
  interrupts: false,
  repeatable: true,
  run: async ({ message }) => {
    const status = await app.status(message.sessionKey, message.role);
    const { used, window, share } = status.context;
    const lines = [
      `**assistant ${status.version}**, running for ${duration(status.uptimeMs)}`,
      `Model: \`${status.model}\``,
      `This conversation: ${countText(used)} of the ${countText(window)} tokens that the model can read (${percent(share)})`,
      `Here today: ${usageOf(status.hereToday)}`,
    ];
    const own = Object.entries(status.own).map(([what, how]) => `${what}: ${how}`);
    if (message.role !== 'owner') lines.push(...own);
    if (message.role === 'owner') {
      lines.push(
        `Everywhere today: ${usageOf(status.today)}`,
        `Now: ${plural(status.runningTurns, 'turn')} running, ${plural(status.waitingMessages, 'message')} waiting, ${plural(status.waitingReplies, 'reply', 'replies')} to send`,
        `Commands: ${status.sandbox}`,
        ...own,
        ...(status.voice === null ? [] : [`Voice messages: ${status.voice}`]),
        ...(status.speech === null ? [] : [`Answers: ${status.speech}`]),
        ...(status.search === null ? [] : [`Memory: searched ${status.search}`]),
        ...(status.storage === null ? [] : [`Storage: ${status.storage}`]),
        ...Object.entries(status.channels).map(
          ([name, { state, detail }]) => `- ${name}: ${state}${detail === undefined ? '' : ` (${detail})`}`,
        ),
        // Without the empty line Markdown takes them for a part of the list.
        ...(status.warnings.length === 0 ? [] : ['']),
        ...status.warnings.map((warning) => `⚠ ${warning}`),
      );
    }
    return lines.join('\n');
  },
});

function usageOf(sum: UsageSum): string {
  const { input, cached, output } = sum.usage;
  const hits = input === 0 ? '' : `, ${percent(cached / input)} of the input from the cache`;
  return `${countText(input + output)} tokens${hits}, ${costText(sum)}`;
}

function percent(share: number): string {
  return `${Math.round(100 * share)}%`;
}

function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`;
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : plural(Math.floor(hours / 24), 'day');
}
