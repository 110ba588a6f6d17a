import { definePlugin } from 'assistantd';
import { feishuChannel } from './channel.ts';

export default definePlugin({
  name: 'Feishu and Lark',
  channels: [
    {
      kind: 'feishu',
      shows: 'Write Markdown, which this chat shows; a table appears as monospaced text.',
      open: (name, { appId, appSecret, domain = 'https://open.feishu.cn' }, kit) => {
        const expect = (value: unknown, form: RegExp, what: string): string => {
          if (typeof value === 'string' && form.test(value)) return value;
          throw new kit.ChannelError(`channels.${name}.${what}.`, { retry: false });
        };
        return feishuChannel(name, kit, {
          appId: expect(appId, /^cli_[0-9a-f]{16}$/iu, 'appId: expected the App ID of your app (cli_…)'),
          appSecret: expect(appSecret, /\S/u, 'appSecret: expected the App Secret of your app'),
          domain: expect(domain, /^https?:\/\/[^/]+$/u, 'domain: expected https://open.larksuite.com or Feishu’s'),
        });
      },
    },
  ],
});
