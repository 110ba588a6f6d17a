import type { MemoryStore } from '../../memory/files/store.ts';
import { AppError } from '../../util/errors.ts';
import { plural } from '../../util/text.ts';
import { versionLine } from '../../util/version-line.ts';
import type { ChatCommand } from './command.ts';

type MemoryPorts = Pick<MemoryStore, 'log' | 'restore'> & {
  /** Called after MEMORY.md got another text. */
  readonly changed: () => void;
};

const MOST_LISTED = 20;
const USAGE =
  'Use `/memory log` to list the earlier versions of MEMORY.md, and `/memory restore ID` to go back to one of them.';

/** /memory: the earlier versions of MEMORY.md, as `assistant memory log` and `assistant memory restore` show them. */
export const memoryCommand = ({ log, restore, changed }: MemoryPorts): ChatCommand => ({
  name: 'memory',
  description:
    'go back to an earlier version of MEMORY.md: `/memory log` lists them, `/memory restore ID` restores one',
  role: 'owner',
  priority: false,
  interrupts: false,
  repeatable: true,
  run: async ({ message: { chatType }, args }) => {
    if (chatType !== 'direct') return 'MEMORY.md is only for our direct chat: send this command there.';
    const [action = '', id = '', ...rest] = args.split(/\s+/u);
    try {
      if (action === 'log' && id === '') return listed(await log());
      if (action !== 'restore' || id === '' || rest.length > 0) return USAGE;
      const { id: restored } = await restore(id);
      changed();
      return `MEMORY.md is restored to version \`${restored}\`; this applies from my next answer on. What it said before is kept: \`/memory log\` lists it.`;
    } catch (error) {
      if (error instanceof AppError && error.code === 'memory-version') {
        return 'There is no such version of MEMORY.md. `/memory log` lists those that are kept.';
      }
      throw error;
    }
  },
});

function listed(versions: Awaited<ReturnType<MemoryStore['log']>>): string {
  if (versions.length === 0) return 'There are no earlier versions of MEMORY.md.';
  const lines = versions.slice(0, MOST_LISTED).map((version) => versionLine(version).replaceAll('~~~', '~ ~ ~'));
  const more = versions.length - lines.length;
  const rest = more === 0 ? [] : [`… and ${plural(more, 'more version')}`];
  const newest = versions[0]?.id ?? '';
  return ['~~~', ...lines, ...rest, '~~~', `To go back to one of them: \`/memory restore ${newest}\``].join('\n');
}
