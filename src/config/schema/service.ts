import * as z from 'zod';
import { modelReference } from './agent.ts';
import { count, flag, optionalText, reserved, text } from './values.ts';

export const heartbeatSchema = z
  .object({
    enabled: flag(true, 'Whether it looks at HEARTBEAT.md by itself.'),
    everyMinutes: count(30, 1, 'How often.'),
    activeHours: z
      .string()
      .regex(/^(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-4]):[0-5]\d$/u, {
        error: 'expected hours such as "08:00-22:00"',
      })
      .nullable()
      .default(null)
      .describe('When it may speak up, e.g. `08:00-22:00`; null: always.'),
    model: modelReference().nullable().default(null).describe('Its model; null: the agent’s.'),
    target: text().default('owner').describe('Who is told: `owner`, or a session such as `telegram:123456789`.'),
  })
  .prefault({})
  .describe('Looking after open tasks by itself.');

export const cronSchema = z
  .object({
    enabled: flag(true, 'Whether scheduled jobs run.'),
    catchUp: z
      .enum(['once', 'skip'])
      .default('once')
      .describe('What becomes of runs that were missed: one late run, or none.'),
    graceMinutes: count(720, 0, 'How late a run may start.'),
    maxConcurrent: count(2, 1, 'Jobs at once.'),
  })
  .prefault({})
  .describe('Scheduled jobs.');

export const gatewaySchema = z
  .object({
    host: text().default('127.0.0.1').describe('Address to listen on. Anything but loopback requires `gateway.token`.'),
    port: count(18790, 0, 'Port to listen on; 0: any that is free.', 65_535),
    token: reserved(
      optionalText('No page asks for it; `host` beyond loopback needs one already.'),
      'gateway.token is not available yet: HTTP answers /health only, which asks for no token. The setting does nothing but permit a gateway.host beyond loopback.',
    ),
    ui: reserved(
      flag(true, 'Nothing is served to browsers.'),
      'gateway.ui is not available yet: no page is served to browsers. The setting has no effect.',
    ),
  })
  .prefault({})
  .describe('The HTTP server.');

export const hooksSchema = reserved(
  z
    .record(
      z.string(),
      z
        .object({
          secret: text().describe('Its secret.'),
          session: optionalText('Its session.'),
          template: optionalText('Its text.'),
          role: z.enum(['owner', 'trusted', 'guest']).default('guest').describe('Its role.'),
        })
        .describe('One webhook; the names of its keys are reserved.'),
    )
    .default({})
    .describe('Webhooks by name.'),
  'hooks is not available yet: no webhook is served. The setting has no effect.',
);

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
      .describe('What is written; while a conversation shares the screen, only warnings unless this is set.'),
    format: z
      .enum(['auto', 'json', 'pretty'])
      .default('auto')
      .describe('How; `auto`: pretty on a terminal, JSON lines elsewhere.'),
  })
  .prefault({})
  .describe('The log on stderr.');
