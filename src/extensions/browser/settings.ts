import { count, flag, optionalText, section, z } from '../../core/api.ts';

/** Web pages in a real browser. */
export const browser = section(
  'tools.browser',
  'restart',
  z
    .object({
      enabled: flag(
        false,
        'Whether the tool `browser` is there; it needs the sandbox and what `tools install browser` fetches.',
      ),
      executable: optionalText('Path of Chromium or Chrome; null: the first of the usual places.'),
      maxSessions: count(2, 1, 'Maximum number of browsers that run at the same time, one for each conversation.'),
      idleMinutes: count(
        10,
        1,
        'Minutes without a call after which a browser ends; its logins stay for the conversation.',
      ),
      memoryMegabytes: count(2048, 512, 'Memory for all browsers together, in MB.'),
    })
    .prefault({})
    .describe('Web pages in a real browser.'),
);
