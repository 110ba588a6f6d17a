import { describe, expect, test } from 'vitest';
import type { SendingRequest } from '../../src/core/security/proxy.ts';
import { SendGate, sendingText } from '../../src/extensions/browser/send-gate.ts';
import type { ApprovalAnswer, ApprovalRequest } from '../../src/core/tools/tool.ts';
import { testToolContext } from '../support/tool-context.ts';

const SITE = 'https://shop.example.com';

function request(headers: SendingRequest['headers'] = {}, over: Partial<SendingRequest> = {}): SendingRequest {
  return { method: 'POST', url: `${SITE}/order`, origin: SITE, headers, body: Buffer.from(''), ...over };
}

const forever = new AbortController().signal;

/** A gate in a call whose questions are answered so. */
function gateWith(answer: (asked: ApprovalRequest) => Promise<ApprovalAnswer> | ApprovalAnswer, asks = true) {
  const asked: ApprovalRequest[] = [];
  const gate = new SendGate();
  const context = testToolContext({
    approve: async (one) => {
      asked.push(one);
      return await answer(one);
    },
  });
  const call = gate.begin({ context, asks, page: `${SITE}/cart` });
  return { gate, asked, call };
}

const yes = (): ApprovalAnswer => ({ approved: true });
const no = (): ApprovalAnswer => ({ approved: false, reason: 'the owner said no' });

describe('What a page wants to send', () => {
  test.each<[string, SendingRequest['headers'], boolean]>([
    ['a form that leads to another page', { 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'cross-site' }, true],
    ['a form over plain HTTP', { 'upgrade-insecure-requests': '1', origin: 'http://other.example.net' }, true],
    ['a script that talks to its own server', { 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin' }, true],
    ['a script that talks to its own site', { 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-site' }, true],
    ['a script over plain HTTP', { origin: 'http://www.example.com' }, true],
    ['something that says nothing of itself', {}, true],
    ['a beacon', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-site': 'same-origin' }, false],
    ['a script that talks to others', { 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'cross-site' }, false],
    ['a script that talks to others over plain HTTP', { origin: 'http://other.example.net' }, false],
    ['what has no origin', { origin: 'null' }, false],
  ])('of %s: is asked about, or refused without a question', async (_, headers, isAsked) => {
    const { gate, asked } = gateWith(yes);
    const why = await gate.maySend(request(headers), forever);
    expect(asked).toHaveLength(isAsked ? 1 : 0);
    if (isAsked) expect(why).toBeNull();
    else expect(why).toContain('another site');
  });

  test('is refused without a question outside of a call, and in one that only reads', async () => {
    const { gate, asked, call } = gateWith(yes, false);
    expect(await gate.maySend(request(), forever)).toContain('allowSending: true');
    call[Symbol.dispose]();
    expect(await gate.maySend(request(), forever)).toContain('while nothing was asked for');
    expect(asked).toEqual([]);
  });

  test('is asked about once for each origin and method, and the answer holds', async () => {
    const { gate, asked, call } = gateWith((one) => (one.detail.startsWith('DELETE') ? no() : yes()));
    const put = request({}, { method: 'PUT' });
    const other = request({}, { origin: 'https://api.example.com', url: 'https://api.example.com/' });
    const all = [request(), request(), put, other, request({}, { method: 'DELETE' })];
    expect(await Promise.all(all.map((one) => gate.maySend(one, forever)))).toEqual([
      null,
      null,
      null,
      null,
      'the owner was asked and did not allow it.',
    ]);
    expect(asked.map(({ part }) => part)).toEqual([1, 2, 3, 4]);
    expect(await gate.settled(forever)).toBe(4);
    call[Symbol.dispose]();
    // Also when no call runs any more.
    expect(await gate.maySend(request(), forever)).toBeNull();
    expect(gate.hasSent).toBe(true);
  });

  test('is not sent when asking breaks, and a stopped call answers nothing for good', async () => {
    const broken = gateWith(async () => Promise.reject(new Error('broken')));
    expect(await broken.gate.maySend(request(), forever)).toContain('did not allow it');
    const stop = new AbortController();
    const gate = new SendGate();
    const context = testToolContext({
      signal: stop.signal,
      approve: async () => {
        stop.abort();
        return no();
      },
    });
    using _call = gate.begin({ context, asks: true, page: SITE });
    expect(await gate.maySend(request(), forever)).toBe('no one allowed it.');
    const { gate: later } = gateWith(yes);
    expect(await later.maySend(request(), forever)).toBeNull();
  });
});

describe('The question shows what is sent', () => {
  const shown = (type: string, body: string | Uint8Array): Promise<string> =>
    sendingText(request({ 'content-type': type }, { body: Buffer.from(body) }), `${SITE}/cart`);

  test('with its method, its address and the page', async () => {
    expect(await shown('', '')).toBe(`POST ${SITE}/order\nfrom the page ${SITE}/cart\nIt sends nothing else.`);
  });

  test.each([
    ['a form', 'application/x-www-form-urlencoded', 'name=Ming+%26+Co&pin=%C3%BC', '  name: Ming & Co\n  pin: ü'],
    ['JSON', 'application/json', '{"a":{"b":1}}', '    "a": {\n      "b": 1'],
    ['text', 'text/plain;charset=UTF-8', 'one\ntwo', '  one\n  two'],
    ['bytes', 'application/x-protobuf', '\0\u0001', '  2 bytes of application/x-protobuf'],
    [
      'a form with a file',
      'multipart/form-data; boundary=----WebKitFormBoundaryAb',
      '------WebKitFormBoundaryAb\r\nContent-Disposition: form-data; name="who"\r\n\r\nMüng\r\n------WebKitFormBoundaryAb\r\nContent-Disposition: form-data; name="cv"; filename="cv.pdf"\r\nContent-Type: application/pdf\r\n\r\n12345\r\n------WebKitFormBoundaryAb--\r\n',
      '  who: Müng\n  cv: the file cv.pdf, 5 bytes',
    ],
    ['a form that is none', 'multipart/form-data; boundary=x', 'name=\none', '  name=\n  one'],
  ])('as %s', async (_, type, body, part) => {
    expect(await shown(type, body)).toContain(part);
  });

  test('and how much more there is of what is too long', async () => {
    const text = await shown('text/plain', 'x'.repeat(10_000));
    expect(text.length).toBeLessThan(3_000);
    expect(text).toMatch(/\(and 7502 more characters\)$/u);
  });
});
