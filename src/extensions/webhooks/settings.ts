import { optionalText, section, z } from '../../core/api.ts';

const hookName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/iu, {
  error: 'expected a name of at most 64 letters, digits, _ and - that begins with a letter or digit',
});

/** Webhooks by name. */
export const hooks = section(
  'hooks',
  'live',
  z
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
            .describe(
              'What the assistant may do for it; the texts of the body count as those of strangers in any case.',
            ),
        })
        .describe('One webhook, served at `/hooks/<name>`.'),
    )
    .default({})
    .describe('Webhooks by name.'),
  // They are for the gateway, which the main assistant has.
  { mainOnly: true, sensitive: true },
);

export type HookSettings = z.output<typeof hooks.schema>[string];
