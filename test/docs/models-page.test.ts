import { expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import type { Preset } from '../../src/core/providers/presets.ts';
import { knownServices } from '../../src/extensions/voice/servers.ts';
import { expectParts, table } from './generated-part.ts';

const rows = [...PROGRAM.presets];

/** Whether the server is on this machine unless another address is configured. */
function isLocal({ baseUrl }: Preset): boolean {
  return baseUrl?.startsWith('http://127.0.0.1:') === true;
}

function keyOf({ keyVariable, keyPage, needsBaseUrl }: Preset): string {
  if (keyVariable === null) return 'no key';
  const page = keyPage === undefined ? '' : ` ([get one](${keyPage}))`;
  return `\`${keyVariable}\`${page}${needsBaseUrl === true ? ', and its `baseUrl`' : ''}`;
}

test('docs/models.md lists every provider (-u rewrites it)', async () => {
  const listed = rows.filter(([, { api }]) => api !== 'demo');
  expect(listed.length).toBeGreaterThan(15);
  await expectParts('docs/models.md', {
    providers: table(
      ['provider', 'key', 'default model', 'address'],
      listed.map(([name, preset]) => [
        `\`${name}\``,
        keyOf(preset),
        preset.defaultModel === null ? 'name one' : `\`${preset.defaultModel}\``,
        isLocal(preset) ? `\`${String(preset.baseUrl)}\`, on this machine` : 'the provider’s',
      ]),
    ),
  });
});

test('docs/voice.md lists the providers of speech to text (-u rewrites it)', async () => {
  const known = [...knownServices(PROGRAM.presets)].map(([name, { model }]) => {
    const variable = rows.find(([preset]) => preset === name)?.[1].keyVariable;
    return [
      `\`${name}\``,
      `\`${model}\``,
      `\`voice.apiKey\`, else that of \`providers.${name}\` (\`${String(variable)}\`)`,
    ];
  });
  const other = [
    'any other name, or none with `voice.baseUrl`',
    '`whisper-1`',
    '`voice.apiKey` or that of its entry in `providers`, if the server wants one; its address is `voice.baseUrl` or that of the entry',
  ];
  await expectParts('docs/voice.md', {
    speech: table(['`voice.provider`', 'default model', 'key'], [...known, other]),
  });
});
