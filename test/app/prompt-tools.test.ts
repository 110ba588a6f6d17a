import { expect, test } from 'vitest';
import { createPrompts } from '../../src/app/agent/prompt.ts';
import { configSchema } from '../../src/config/schema.ts';
import { STAY_SILENT } from '../../src/tools/stay-silent.ts';
import { inboundMessage } from '../support/inbound.ts';

const SPECS = ['read_file', STAY_SILENT].map((name) => ({ name, description: name, parameters: {} }));

/** The prompts of a configuration whose channel `telegram` treats groups so. */
function promptsOf(policy: 'open' | 'mention') {
  return createPrompts({
    plugged: () => ({}),
    config: configSchema.parse({ channels: { telegram: { token: 't', groups: { policy } } } }),
    workspace: '/nowhere',
    catalog: { current: async () => [], load: async () => undefined },
    skillNews: { look: () => {} },
    registry: { specs: () => SPECS },
    speech: { isOffered: () => false },
    pairedRoles: () => [],
    redact: (text) => text,
  });
}

test('the list of tools is the very same from turn to turn, and offers silence only in open groups', () => {
  const direct = inboundMessage({ chatType: 'direct' });
  const group = inboundMessage({ channel: 'telegram', chatType: 'group' });
  for (const policy of ['open', 'mention'] as const) {
    const prompts = promptsOf(policy);
    expect(prompts.tools(direct, 'owner').map(({ name }) => name)).toEqual(['read_file']);
    expect(prompts.tools(direct, 'owner')).toBe(prompts.tools(direct, 'owner'));
    const names = policy === 'open' ? ['read_file', STAY_SILENT] : ['read_file'];
    expect(prompts.tools(group, 'guest').map(({ name }) => name)).toEqual(names);
    expect(prompts.tools(group, 'guest')).toBe(prompts.tools(group, 'guest'));
  }
});
