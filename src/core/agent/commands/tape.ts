import type { TapeActions } from '../../tools/tape.ts';
import type { ChatCommand } from './command.ts';

const USAGE =
  'Use `/tape info`, `/tape search WORDS`, `/tape anchors`, `/tape handoff SUMMARY` or `/tape reset [archive]`.';

export const tapeCommand = (actions: TapeActions): ChatCommand => ({
  name: 'tape',
  description:
    'look at or restart the record of this conversation: `/tape info`, `search`, `anchors`, `handoff`, `reset [archive]`',
  role: 'trusted',
  priority: false,
  interrupts: false,
  run: async ({ message: { sessionKey, role }, args, signal }) => {
    const [first = ''] = args.split(/\s/u, 1);
    const rest = args.slice(first.length).trim();
    const during = null;
    switch (first.toLowerCase()) {
      case '':
      case 'info':
        return (await actions.info(sessionKey)).text;
      case 'search':
        return (await actions.search({ sessionKey, query: rest, role, signal })).text;
      case 'anchors':
        return (await actions.anchors({ sessionKey, role })).text;
      case 'handoff':
        return (await actions.handoff({ sessionKey, summary: rest, during })).text;
      case 'reset':
        if (rest !== '' && rest.toLowerCase() !== 'archive') return USAGE;
        return (await actions.reset({ sessionKey, archive: rest !== '', during })).text;
      default:
        return USAGE;
    }
  },
});
