import type { App } from '../../app.ts';
import type { UsageSum } from '../../journal/usage.ts';
import { costText, countText, plural } from '../../util/text.ts';
import { startOfDay } from '../../util/time-zone.ts';
import type { ChatCommand } from './command.ts';

export const usageCommand = ({ journal, clock, config }: App): ChatCommand => ({
  name: 'usage',
  description: 'show used tokens and cost: here, today and in total',
  role: 'guest',
  priority: false,
  interrupts: false,
  repeatable: true,
  run: async ({ message: { sessionKey, role } }) => {
    const { usage } = journal;
    const today = startOfDay(clock.now(), config.agent.timezone);
    const lines = [
      row('Here today', usage.since(today, sessionKey)),
      row('Here in total', usage.since(0, sessionKey)),
      ...(role === 'owner' ? [row('Everywhere today', usage.since(today)), row('Everywhere', usage.since(0))] : []),
    ];
    return lines.join('\n');
  },
});

function row(name: string, sum: UsageSum): string {
  const { calls, usage } = sum;
  if (calls === 0) return `- ${name}: nothing`;
  const cached = usage.cached === 0 ? '' : ` (${countText(usage.cached)} cached)`;
  const tokens = `${countText(usage.input)} tokens in${cached}, ${countText(usage.output)} out, ${plural(calls, 'call')}${estimateNote(sum)}`;
  return `- ${name}: ${tokens}; ${costText(sum)}`;
}

/** Says how many of the calls a server didn't count. */
function estimateNote({ calls, estimated = 0 }: UsageSum): string {
  if (estimated === 0) return '';
  return estimated === calls ? ' (estimated)' : ` (${estimated} of them estimated)`;
}
