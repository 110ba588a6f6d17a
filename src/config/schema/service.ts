import * as z from 'zod';
import { modelReference } from './agent.ts';
import { count, flag, optionalText, optionalUrl, takes, text } from './values.ts';

export const heartbeatSchema = z
  .object({
    enabled: takes('restart', flag(true, 'Whether the assistant reads HEARTBEAT.md at intervals and acts on it.')),
    everyMinutes: count(30, 1, 'Minutes between two heartbeats.'),
    activeHours: z
      .string()
      .regex(/^(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-4]):[0-5]\d$/u, {
        error: 'expected hours such as "08:00-22:00"',
      })
      .nullable()
      .default(null)
      .describe('Hours in which a heartbeat may run, e.g. `08:00-22:00`; null: always.'),
    model: modelReference().nullable().default(null).describe('The model of heartbeats; null: `agent.model`.'),
    target: text()
      .default('owner')
      .describe('Where the messages of the heartbeat are sent: `owner`, or a session such as `telegram:123456789`.'),
  })
  .prefault({})
  .describe('The heartbeat: turns that the assistant starts by itself to look after open tasks.');

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
