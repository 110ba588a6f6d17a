import type { Command } from './command.ts';

interface HelpPorts {
  /** What a person of the asking role may use, in the order of the list. */
  readonly commands: (role: Command['role']) => readonly Pick<Command, 'name' | 'description'>[];
}

export const helpCommand = ({ commands }: HelpPorts): Command => ({
  name: 'help',
  description: 'what I understand',
  role: 'guest',
  priority: true,
  interrupts: false,
  repeatable: true,
  run: async ({ message }) =>
    [
      'Write what you want, in your own words. I can also take these commands:',
      ...commands(message.role).map(({ name, description }) => `- /${name}: ${description}`),
    ].join('\n'),
});
