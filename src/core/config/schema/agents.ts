import * as z from 'zod';
import { flag, text } from './values.ts';

/** Names of assistants: they are names of folders too, on every file system. */
const NAME = /^(?!main$)[a-z\d][a-z\d_-]{0,31}$/u;
/** A channel, or one chat of it. */
const ROUTE = /^(?!(?:terminal|web|api)(?::|$))[\w.-]+(?::.+)?$/u;

const overrides = (section: string) =>
  z
    .record(z.string(), z.unknown())
    .optional()
    .describe(`Its settings of \`${section}\`, as in the section of that name.`);

const agent = (sections: readonly string[]) =>
  z
    .object({
      enabled: flag(true, 'Whether it is started.'),
      routes: z
        .array(
          text().regex(ROUTE, { error: 'expected a channel such as "telegram", or a chat such as "telegram:123456"' }),
        )
        .default([])
        .describe(
          'What it answers: a whole channel (`telegram`), or one chat with its threads (`telegram:-100123456`). The chat wins over the channel; everything else stays with the main assistant.',
        ),
      agent: overrides('agent'),
      providers: overrides('providers'),
      models: overrides('models'),
      tools: overrides('tools'),
      skills: overrides('skills'),
      memory: overrides('memory'),
      session: overrides('session'),
      plugins: z.array(z.unknown()).optional().describe('Its plugins, as in the section of that name.'),
      log: overrides('log'),
      ...Object.fromEntries(sections.map((name) => [name, overrides(name)])),
    })
    .describe('One further assistant.');

export type AgentSettings = z.output<ReturnType<typeof agent>>;

/** `sections`: what extensions let further assistants have of their own. */
export const agentsSchema = (sections: readonly string[]) =>
  z
    .record(
      z.string().regex(NAME, {
        error: 'expected a name of up to 32 small letters, digits, "-" and "_" that is not "main"',
      }),
      agent(sections),
    )
    .default({})
    .superRefine((agents, context) => {
      const owners = new Map<string, string>();
      for (const [name, { routes }] of Object.entries(agents)) {
        for (const [at, route] of routes.entries()) {
          const owner = owners.get(route);
          if (owner !== undefined && owner !== name) {
            context.addIssue({
              code: 'custom',
              path: [name, 'routes', at],
              message: `expected a route that "${owner}" does not have`,
            });
          }
          owners.set(route, name);
        }
      }
    })
    .describe(
      'Further assistants in this process, by name: each has a home of its own in `agents/NAME`, with its own memory, conversations, skills and budget, and shares nothing but the channels.',
    );
