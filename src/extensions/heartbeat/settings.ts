import { count, flag, section, takes, z } from '../../core/api.ts';
import { modelReference, text } from '../../core/api-settings.ts';

/** The heartbeat. */
export const heartbeat = section(
  'heartbeat',
  'live',
  z
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
    .describe('The heartbeat: turns that the assistant starts by itself to look after open tasks.'),
);
