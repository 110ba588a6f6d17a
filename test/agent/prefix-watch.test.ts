import { beforeEach, describe, expect, test } from 'vitest';
import { PrefixWatch, type PrefixBreak } from '../../src/core/agent/context/prefix-watch.ts';
import type { ModelMessage, ModelRequest } from '../../src/core/providers/provider.ts';
import type { TapeEntry } from '../../src/core/session/entry.ts';
import { isTurningPoint } from '../../src/core/session/history-window.ts';
import { othersFirst } from '../../src/core/util/wake.ts';
import { anchor, reset, retract, stamp, trim } from '../session/tapes.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { recordingLog } from '../support/recording-log.ts';

let log = recordingLog();
let watch = new PrefixWatch(log);
/** By key: there is one object for each session. */
const sessions = new Map<string, { readonly key: string; turningPoint: string | undefined }>();

beforeEach(() => {
  log = recordingLog();
  watch = new PrefixWatch(log);
  sessions.clear();
});

const said = (text: string): ModelMessage => ({ role: 'user', content: [{ type: 'text', text }] });
const answered = (text: string): ModelMessage => ({ role: 'assistant', content: [{ type: 'text', text }] });
const tool = (description: string): ModelRequest['tools'][number] => ({ name: 'look', description, parameters: {} });

interface Sent {
  readonly key?: string;
  readonly model?: string;
  readonly files?: readonly string[];
  readonly system?: readonly string[];
  readonly tools?: ModelRequest['tools'];
  readonly entries?: readonly TapeEntry[];
}

function send(messages: readonly ModelMessage[], sent: Sent = {}): PrefixBreak | null {
  const { key = 's', model = 'a/b', files = ['Be kind.'], tools = [tool('looks')], entries = [] } = sent;
  const request: ModelRequest = {
    model: 'b',
    system: sent.system ?? files,
    messages,
    tools,
    toolChoice: 'auto',
    maxOutputTokens: 10,
  };
  const session = sessions.get(key) ?? { key, turningPoint: undefined };
  sessions.set(key, session);
  session.turningPoint = entries.findLast(isTurningPoint)?.id;
  return watch.check({ session, modelRef: model, files, request });
}

describe('the prefix watch', () => {
  test('is content as long as each request goes on from the one before, also when it was folded anew', () => {
    expect(send([said('a')])).toBeNull();
    expect(send([said('a'), answered('b'), said('c')])).toBeNull();
    expect(send([said('a'), answered('b'), said('c')])).toBeNull();
    expect(send([said('x')], { key: 'another' })).toBeNull();
    expect([watch.breaks, log.lines]).toEqual([0, []]);
  });

  test('tells the layer and the first byte of a message that changed', () => {
    send([said('aaa'), answered('bbb')]);
    const found = send([said('aaa'), answered('bbX'), said('c')]);
    const byte = JSON.stringify(answered('bbb')).indexOf('bbb') + 2;
    expect(found).toEqual({ layer: 'message 1', byte, allowedBy: null });
    expect(watch.breaks).toBe(1);
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { session: 's', layer: 'message 1', byte } }]);
  });

  test('sees a message that is missing, an image that changed, and a result that changed', () => {
    const image = (data: string): ModelMessage => ({
      role: 'user',
      content: [{ type: 'image', mediaType: 'image/png', data }],
    });
    const result = (output: string): ModelMessage => ({
      role: 'tool',
      callId: 'c',
      name: 'look',
      output,
      isError: false,
    });
    send([said('a'), image('A'.repeat(500)), result('one')]);
    expect(send([said('a'), image('A'.repeat(500)), result('one')])).toBeNull();
    expect(send([said('a'), image('A'.repeat(501)), result('one')])?.layer).toBe('message 1');
    expect(send([said('a'), image('A'.repeat(501)), result('two')])?.layer).toBe('message 2');
    expect(send([said('a')])).toMatchObject({ layer: 'message 1', byte: 0 });
  });

  test('a system prompt may change with its files, and for no other reason', () => {
    send([said('a')]);
    expect(send([said('a')], { files: ['Be kinder.'] })).toMatchObject({
      layer: 'system',
      allowedBy: 'a changed file',
    });
    expect(send([said('a')], { files: ['Be kinder.'], system: ['It is noon.'] })).toMatchObject({
      layer: 'system',
      allowedBy: null,
    });
    expect(watch.breaks).toBe(1);
  });

  test('the list of tools may change, the words of a tool may not', () => {
    send([said('a')]);
    expect(send([said('a')], { tools: [] })?.allowedBy).toBe('another list of tools');
    send([said('a')]);
    expect(send([said('a')], { tools: [tool('looks at 12:03')] })).toMatchObject({ layer: 'tools', allowedBy: null });
  });

  test('another model begins anew', () => {
    send([said('a')]);
    expect(send([said('b')], { model: 'c/d' })).toMatchObject({ layer: 'model', allowedBy: 'another model' });
    expect(watch.breaks).toBe(0);
  });

  test.each([trim({ stubUpTo: 'e0' }), anchor('s', 'e0'), reset(), retract('t1')])(
    'a $kind begins anew, once',
    (draft) => {
      const entries = stamp([draft]);
      send([said('a'), answered('b')]);
      expect(send([said('other')], { entries })?.allowedBy).toMatch(/trim, anchor, reset or retract/u);
      expect(send([said('yet another')], { entries })?.allowedBy).toBeNull();
      expect(watch.breaks).toBe(1);
    },
  );

  test('keeps what was sent as long as its session is in memory', async () => {
    const sent = ((message) => (send([message]), new WeakRef(message)))(said('a'));
    await othersFirst();
    collectGarbage();
    // The message itself is not given to `expect`, which would hold it.
    expect(sent.deref() !== undefined).toBe(true);
    sessions.clear();
    await expect.poll(() => (collectGarbage(), sent.deref() === undefined), { timeout: 10_000 }).toBe(true);
  });
});
