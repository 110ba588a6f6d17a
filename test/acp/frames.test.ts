import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { startEditorWorld } from './editor.ts';

type Frame = Readonly<Record<string, unknown>>;

/** The frame of a line of the page, with what differs each time filled in. */
function filled(line: string, fill: (key: string) => unknown): Frame {
  const value: unknown = JSON.parse(line, (key, one: unknown) => (one === '…' ? fill(key) : one));
  return value as Frame;
}

test('the frames on the page about editors are those that are exchanged', async () => {
  const page = await readFile('docs/editors.md', 'utf8');
  const lines = [...page.matchAll(/^(?<from>[→←]) (?<frame>\{.*\})$/gmu)].map(({ groups }) => ({
    isOurs: groups?.['from'] === '←',
    frame: groups?.['frame'] ?? '',
  }));
  expect(lines.length).toBeGreaterThan(5);
  await using world = await startEditorWorld();
  world.model.reply({ text: 'Hello!', chunkSize: 100 });
  const child = world.spawn('acp');
  const heard: Frame[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => heard.push(JSON.parse(line) as Frame));
  let sessionId: unknown;
  for (const { isOurs, frame } of lines) {
    if (isOurs) {
      const expected = filled(frame, () => expect.any(String));
      await waitFor(
        () => {
          expect(heard).toContainEqual(expect.objectContaining(matching(expected)));
          return true;
        },
        { what: frame },
      );
      sessionId ??= (heard.find(({ id }) => id === 2)?.['result'] as Frame | undefined)?.['sessionId'];
    } else {
      const sent = filled(frame, (key) => (key === 'cwd' ? world.workspace : sessionId));
      child.stdin.write(`${JSON.stringify(sent)}\n`);
    }
  }
});

/** Every object in it may have more than it says. */
function matching(frame: Frame): Frame {
  const part = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || 'asymmetricMatch' in value) return value;
    return expect.objectContaining(matching(value as Frame));
  };
  return Object.fromEntries(Object.entries(frame).map(([key, value]) => [key, part(value)]));
}
