import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { soulCommand } from '../../src/core/agent/commands/soul.ts';
import type { SideCall } from '../../src/core/agent/side-calls/side-calls.ts';
import type { App } from '../../src/core/app.ts';
import { KeptText } from '../../src/core/memory/files/kept-text.ts';
import type { ModelEvent, ModelRequest, StopReason } from '../../src/core/providers/provider.ts';
import { plainDisk } from '../../src/core/storage/disk.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { noUsage } from '../../src/core/util/token-usage.ts';
import { appWith } from '../support/app-with.ts';
import { inboundMessage } from '../support/inbound.ts';
import { tempFolder } from '../support/temp.ts';

const SOUL = '# Soul\n\n## Personality\nWarm.\n\n## Values\n- Truth.\n\n## Communication Style\nLong.\n';
const BRIEF = SOUL.replace('Long.', 'Brief.');

interface Said {
  readonly text?: string;
  readonly stop?: StopReason;
  readonly fails?: string;
  readonly meanwhile?: string;
}

/** Runs `/soul args` with a model that says this; returns what came of it. */
async function soul(
  args: string,
  said: Said = {},
  options: { readonly before?: string; readonly refused?: string } = {},
): Promise<{
  readonly reply: unknown;
  readonly file: string;
  readonly versions: readonly string[];
  readonly requests: readonly ModelRequest[];
  readonly counted: readonly SideCall['id'][];
}> {
  await using folder = await tempFolder();
  const path = join(folder.path, 'SOUL.md');
  const { before = SOUL, refused = null } = options;
  if (before !== '') await writeFile(path, before);
  const requests: ModelRequest[] = [];
  const counted: string[] = [];
  const chat = async function* (request: ModelRequest): AsyncGenerator<ModelEvent> {
    requests.push(request);
    if (said.meanwhile !== undefined) await writeFile(path, said.meanwhile);
    if (said.fails !== undefined) {
      yield { type: 'error', kind: 'overloaded', retryable: true, message: said.fails };
      return;
    }
    const content = [{ type: 'text' as const, text: said.text ?? '' }];
    const response = { content, model: 'm', usage: { ...noUsage, input: 5, output: 5 } };
    yield { type: 'end', stopReason: said.stop ?? 'stop', response };
  };
  const budget = {
    refusal: async () => refused,
    record: ({ turnId, source }: { turnId: string; source?: string }) => void counted.push(`${source} ${turnId}`),
  };
  const command = soulCommand(
    appWith({
      keptFiles: {
        'SOUL.md': new KeptText({
          path,
          versions: join(folder.path, 'versions', 'soul'),
          clock: systemClock,
          log: silentLog,
          disk: plainDisk,
        }),
      } as unknown as App['keptFiles'],
      budget: budget as unknown as App['budget'],
      bounds: { warm: async () => {} } as unknown as App['bounds'],
      models: {
        resolve: () => ({ provider: { name: 'p', chat }, providerName: 'p', model: 'm' }),
      } as unknown as App['models'],
      journal: { settings: { model: () => null } } as unknown as App['journal'],
      redact: (text) => text,
      newId: Object.assign(() => 'id', { after: () => {} }),
      clock: systemClock,
      closing: new AbortController().signal,
    }),
  );
  const signal = new AbortController().signal;
  const reply = await command.run({ turnId: 'C', message: inboundMessage(), args, dropped: 0, signal });
  const kept = await readdir(join(folder.path, 'versions', 'soul')).catch(() => []);
  const versions = await Promise.all(kept.map((name) => readFile(join(folder.path, 'versions', 'soul', name), 'utf8')));
  return { reply, file: await readFile(path, 'utf8').catch(() => ''), versions, requests, counted };
}

describe('/soul', () => {
  test('without text shows the file and asks nobody', async () => {
    const { reply, requests } = await soul('');
    expect(reply).toBe(SOUL.trim());
    expect(requests).toEqual([]);
    expect((await soul('', {}, { before: '' })).reply).toContain('SOUL.md is empty');
  });

  test('with a wish takes the text that a model made of both, keeps the old one and shows the change', async () => {
    const { reply, file, versions, counted } = await soul('Be brief', { text: BRIEF });
    expect(file).toBe(BRIEF);
    expect(versions).toEqual([expect.stringContaining(SOUL)]);
    expect(reply).toBe('I changed SOUL.md; this applies from my next answer on:\n~~~\n− Long.\n+ Brief.\n~~~');
    expect(counted).toEqual(['memory soul:id']);
  });

  test('asks with nothing but the file and the wish: no history, no tools, no choice of one', async () => {
    const { requests } = await soul('Be brief\nand Kind', { text: BRIEF });
    expect(requests).toHaveLength(1);
    const [request] = requests;
    expect(request?.system.join()).toContain('Personality, Values, Communication Style');
    expect(request?.messages).toHaveLength(1);
    expect(JSON.stringify(request?.messages)).toContain('<wish>\\nBe brief\\nand Kind\\n</wish>');
    expect(request).toMatchObject({ tools: [], toolChoice: 'auto' });
  });

  test('takes the text out of a code fence and leaves the model’s thoughts out', async () => {
    const { file } = await soul('Be brief', { text: `<think>hm</think>\n\`\`\`markdown\n${BRIEF}\`\`\`` });
    expect(file).toBe(BRIEF);
  });

  test.each<[string, Said, string]>([
    ['next to nothing', { text: 'ok' }, 'next to nothing'],
    ['a text without a section', { text: BRIEF.replace('## Values', '## Wishes') }, 'the section Values would be lost'],
    ['a refusal in words', { text: 'I cannot help with that, I am afraid.' }, 'would be lost'],
    ['a refusal', { text: BRIEF, stop: 'refusal' }, 'the model refused'],
    ['a cut-off text', { text: BRIEF, stop: 'length' }, 'did not finish'],
    ['an error', { fails: 'p is overloaded.' }, 'p is overloaded.'],
    ['far too much', { text: BRIEF + 'x'.repeat(30_000) }, 'longer than 20,000'],
  ])('keeps the file when the model gives %s', async (_title, said, reason) => {
    const { reply, file, versions } = await soul('Be brief', said);
    expect(file).toBe(SOUL);
    expect(versions).toEqual([]);
    expect(reply).toMatch(/^I did not change SOUL\.md: /u);
    expect(reply).toContain(reason);
  });

  test('keeps what somebody wrote into the file at the same moment', async () => {
    const { reply, file } = await soul('Be brief', { text: BRIEF, meanwhile: `${SOUL}More.\n` });
    expect(file).toBe(`${SOUL}More.\n`);
    expect(reply).toContain('at the same moment');
  });

  test('says so when nothing would change, or no budget is left', async () => {
    expect((await soul('Be long', { text: SOUL })).reply).toContain('I changed nothing');
    const { reply, requests } = await soul('Be brief', { text: BRIEF }, { refused: 'The budget is used up.' });
    expect(reply).toContain('The budget is used up.');
    expect(requests).toEqual([]);
  });

  test('begins a file that is not there, from the sections', async () => {
    const { file, requests } = await soul('Be brief', { text: BRIEF }, { before: '' });
    expect(file).toBe(BRIEF);
    expect(JSON.stringify(requests)).toContain('## Communication Style');
  });
});
