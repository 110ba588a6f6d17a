import * as z from 'zod';
import { infoOf } from '../../assistant/info.ts';
import { speechStateOf } from '../../program.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { AppError } from '../../util/errors.ts';
import { assistantInfo } from '../assistant-info.ts';
import { listOf, operation } from './operation.ts';

export const pluginsList = operation({
  name: 'pluginsList',
  about: 'Lists the packages in the folder of plugins, and those that the configuration names.',
  changes: null,
  input: z.object({}),
  output: listOf(
    z.object({
      name: z.string(),
      /** Null: there is no such package. */
      version: z.string().nullable(),
      state: z.enum(['running', 'not enabled', 'failed', 'safe mode', 'waits for a restart']),
    }),
  ),
  run: ({ plugins }) => plugins.look(),
});

export const pageLink = operation({
  name: 'pageLink',
  about:
    'Makes a link that opens the page and lets in whoever opens it, once and for ten minutes; `http-off` if this assistant serves no page.',
  changes: 'page',
  input: z.object({}),
  output: z.object({ link: z.string() }),
  run: async ({ http, host, serving }) => {
    const link = http.newLink?.() ?? null;
    if (link !== null) return { link };
    if (host !== null)
      throw new AppError(
        'http-off',
        'The page shows the main assistant alone. Talk to this one in a chat or a terminal.',
      );
    const remedy = serving
      ? 'Set gateway.ui to true, and restart it.'
      : `Stop it, then start: ${assistantCommand('gateway')}`;
    throw new AppError('http-off', `This assistant serves no page. ${remedy}`);
  },
});

export const info = operation({
  name: 'info',
  about: 'Returns which assistant this is: version, home, model, channels, warnings and where HTTP is served.',
  changes: null,
  input: z.object({}),
  output: assistantInfo.extend({
    /** Voice messages are transcribed. */
    transcription: z.boolean(),
    /** The names of all operations that there are now. */
    operations: listOf(z.string()),
  }),
  run: async (app) => ({
    ...(await infoOf(app)),
    transcription: speechStateOf(app).hears !== null,
    operations: app.operations.names,
  }),
});

export const commands = operation({
  name: 'commands',
  about: 'Lists the slash commands that an owner can write in a chat.',
  changes: null,
  input: z.object({}),
  output: listOf(
    z.object({
      /** Without the slash. */
      name: z.string(),
      description: z.string(),
    }),
  ),
  run: async (app) => app.commands.of('owner').map(({ name, description }) => ({ name, description })),
});

export const configReload = operation({
  name: 'configReload',
  about: 'Reads the configuration again and takes up what has changed; a wrong one is refused as a whole.',
  // The configuration says which skills are used; commands that change their files ask for it too.
  changes: 'skills',
  input: z.object({}),
  output: z.object({
    /** What is different now, and when it takes effect: with the next message, at once by starting it anew, at a restart. */
    changes: listOf(z.object({ path: z.string(), effect: z.enum(['live', 'rebuild', 'restart']) })),
    /** Why it was not taken up, one sentence; null: it was, or nothing is different. */
    refused: z.string().nullable(),
    /** The database of the setting `store` may not have the files of the home yet, one sentence; left out: it has. */
    behind: z.string().exactOptional(),
  }),
  run: (app) => app.reload(),
});
