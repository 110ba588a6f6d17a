import type { UsageSum } from '../../journal/usage.ts';
import { costText, countText, plural } from '../../util/text.ts';
import type { ChatCommand } from './command.ts';

interface UsagePorts {
  /** Sums since a time, ms since 1970; of one session or of all. */
  readonly usage: (since: number, sessionKey?: string) => UsageSum;
  /** When the owner's day began, ms since 1970. */
  readonly today: () => number;
}

export const usageCommand = (ports: UsagePorts): ChatCommand => ({
  name: 'usage',
  description: 'show used tokens and cost: here, today and in total',
  role: 'guest',
  priority: false,
  interrupts: false,
  repeatable: true,
  run: async ({ message: { sessionKey, role } }) => {
    const today = ports.today();
    const lines = [
      row('Here today', ports.usage(today, sessionKey)),
      row('Here in total', ports.usage(0, sessionKey)),
      ...(role === 'owner' ? [row('Everywhere today', ports.usage(today)), row('Everywhere', ports.usage(0))] : []),
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
