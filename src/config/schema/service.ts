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

export const cronSchema = z
  .object({
    enabled: takes('restart', flag(true, 'Whether scheduled jobs run.')),
    catchUp: z
      .enum(['once', 'skip'])
      .default('once')
      .describe('For runs that were missed while the assistant was off: `once` makes one late run, `skip` none.'),
    graceMinutes: count(720, 0, 'How late a missed run may still start, in minutes.'),
    maxConcurrent: count(2, 1, 'Maximum number of jobs that run at the same time.'),
  })
  .prefault({})
  .describe('Scheduled jobs.');

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

const hookName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/iu, {
  error: 'expected a name of at most 64 letters, digits, _ and - that begins with a letter or digit',
});

export const hooksSchema = z
  .record(
    hookName,
    z
      .object({
        secret: z
          .string()
          .min(16, { error: 'expected a secret of at least 16 characters' })
          .describe('What a caller has to know: sent as a bearer token, or used to sign the body.'),
        session: hookName.nullable().default(null).describe('Name of its conversation; null: as the webhook.'),
        template: optionalText(
          'The message that the assistant gets; `{{path.to.field}}` is a field of the body. Null: the whole body.',
        ),
        chat: optionalText('The chat that the answer is sent to, such as `telegram:123456789`; null: none.'),
        role: z
          .enum(['owner', 'trusted', 'guest'])
          .default('guest')
          .describe('What the assistant may do for it; the texts of the body count as those of strangers in any case.'),
      })
      .describe('One webhook, served at `/hooks/<name>`.'),
  )
  .default({})
  .describe('Webhooks by name.');

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
