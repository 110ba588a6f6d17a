import type { Plugin } from 'assistantd';
import { openChannel } from './channel.ts';

export default {
  name: 'Matrix',
  channels: [
    {
      kind: 'matrix',
      shows: 'Write Markdown, which this chat shows; a table appears as monospaced text.',
      open: (name, { homeserver, accessToken }, kit) => {
        if (typeof homeserver === 'string' && URL.canParse(homeserver) && typeof accessToken === 'string')
          return openChannel(name, homeserver, accessToken, kit);
        const example = '"homeserver": "https://matrix.example.org", "accessToken": "…"';
        throw new kit.ChannelError(`channels.${name}: expected ${example}.`, { retry: false });
      },
    },
  ],
} satisfies Plugin;
