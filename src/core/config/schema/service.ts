import * as z from 'zod';
import { count, flag, optionalText, optionalUrl, text } from './values.ts';

export const homesSchema = z
  .object({
    enabled: flag(
      false,
      'Whether this folder is that of a machine, whose gateway runs its share of the homes that the database of `store` has; see [Several machines](several-machines.md).',
    ),
    max: count(1_000, 1, 'Maximum number of homes that this gateway runs.'),
  })
  .prefault({})
  .describe('Many homes in one gateway.');

export const gatewaySchema = z
  .object({
    host: text().default('127.0.0.1').describe('Address to listen on. Anything but loopback requires `gateway.token`.'),
    port: count(18790, 0, 'Port to listen on; 0: any free port.', 65_535),
    token: optionalText(
      'What programs, and browsers without a login link, log in with; null: one that was made at the first start, in `gateway.token` of the home.',
    ),
    publicUrl: optionalUrl(
      'Address under which a reverse proxy serves this, e.g. `https://assistant.example.org`; null: there is none.',
    ),
    ui: flag(true, 'Serve the page for browsers. The API is served either way.'),
  })
  .prefault({})
  .describe('The HTTP server.');

export const sessionSchema = z
  .object({ unified: flag(false, 'Whether the owner’s direct chats share one conversation.') })
  .prefault({})
  .describe('Conversations.');

export const pluginsSchema = z.array(text()).default([]).describe('Names of the plugins that are run.');

export const logSchema = z
  .object({
    level: z
      .enum(['debug', 'info', 'warn', 'error', 'silent'])
      .default('info')
      .describe(
        'The lowest level that is logged. A gateway logs to `logs/assistant.log` in the home too; the command `logs` shows it.',
      ),
    format: z
      .enum(['auto', 'json', 'pretty'])
      .default('auto')
      .describe('Format of the lines; `auto`: readable text on a terminal, JSON elsewhere.'),
  })
  .prefault({})
  .describe('The log on stderr.');
