import type { Command } from './command.ts';

interface RestartPorts {
  /** Ends this process and begins anew, a moment later; undefined where nothing would begin anew. */
  readonly restart: (() => void) | undefined;
}

export const restartCommand = ({ restart }: RestartPorts): Command => ({
  name: 'restart',
  description: 'start the program anew; what is unfinished goes on',
  role: 'owner',
  priority: true,
  interrupts: false,
  run: async () => {
    if (restart === undefined) return 'I can restart only where I run as a gateway (`assistant gateway`).';
    restart();
    return 'Restarting. Unfinished work goes on in a moment.';
  },
});
