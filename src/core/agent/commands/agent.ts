import type { App } from '../../app.ts';
import type { ChatCommand } from './command.ts';

const STATES: Readonly<Record<string, string>> = {
  away: 'restarting',
  failed: 'does not run',
  off: 'switched off',
  'not-configured': 'not configured, its home is kept',
};

/** /agent: says which assistant answers here; the owner of the main one is told of the others. */
export const agentCommand = ({ host, further }: App): ChatCommand => ({
  name: 'agent',
  description: 'which assistant answers here',
  role: 'guest',
  priority: true,
  interrupts: false,
  repeatable: true,
  run: async ({ message: { role, channel, chatId } }) => {
    if (host !== null) {
      const change = 'Who answers where is set in the configuration of the main assistant (agents).';
      return `“${host.name}” answers here, an assistant with its own memory. ${role === 'owner' ? change : ''}`.trim();
    }
    if (role !== 'owner') return 'The main assistant answers here.';
    const known = further.list();
    if (known.length === 0) {
      return 'The main assistant answers here. There is no other; docs/several-assistants.md says how to add one.';
    }
    return [
      'The main assistant answers here. The others:',
      ...known.map(lineOf),
      '',
      `To have one of them answer here, put "${channel}:${chatId}" into its agents.NAME.routes in config.json.`,
    ].join('\n');
  },
});

function lineOf({ name, state, detail, routes }: ReturnType<App['further']['list']>[number]): string {
  const where = routes.length === 0 ? 'no chat' : routes.map((route) => `\`${route}\``).join(', ');
  return `- ${name} (${STATES[state] ?? state}): ${where}${detail === undefined ? '' : `. ${detail}`}`;
}
