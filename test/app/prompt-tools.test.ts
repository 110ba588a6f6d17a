import { expect, test } from 'vitest';
import type { App } from '../../src/core/app.ts';
import type { Config } from '../../src/core/config/schema.ts';
import { PROGRAM } from '../support/extensions.ts';
import { createPrompts } from '../../src/core/assistant/prompt.ts';
import { STAY_SILENT } from '../../src/core/tools/stay-silent.ts';
import { appWith } from '../support/app-with.ts';
import { inboundMessage } from '../support/inbound.ts';

const SPECS = ['read_file', STAY_SILENT].map((name) => ({ name, description: name, parameters: {} }));

/** The prompts of a configuration whose channel `telegram` treats groups so. */
function promptsOf(policy: 'open' | 'mention') {
  const app = appWith({
    program: PROGRAM,
    config: PROGRAM.schema.parse({ channels: { telegram: { token: 't', groups: { policy } } } }) as Config,
    channels: { manager: { channel: () => ({ capabilities: { media: false } }) } } as unknown as App['channels'],
    tools: { specs: () => SPECS, named: () => undefined } as unknown as App['tools'],
    journal: { people: { list: () => [] } } as unknown as App['journal'],
    redact: (text) => text,
  });
  return createPrompts(app, async () => ({ active: null, index: null, shortIndex: null }));
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
