import { expect, test } from 'vitest';
import type { InboundMessage } from '../../src/core/bus/messages.ts';
import { isStopRequest } from '../../src/core/journal/stop.ts';
import { inboundMessage } from '../support/inbound.ts';

const stops = (message: Partial<InboundMessage>): boolean => isStopRequest(inboundMessage(message));

test.each(['/stop', '/stop@test_bot', 'stop', ' STOP '])('%j stops', (text) => {
  expect(stops({ text })).toBe(true);
});

test.each<[string, Partial<InboundMessage>]>([
  ['more than the word', { text: 'stop it' }],
  ['another command', { text: '/stopped' }],
  ['what was forwarded', { text: '/stop', untrusted: true }],
  ['the label of a button that a model made', { text: '/stop', action: { id: 'w0:/stop', value: 'w0:/stop' } }],
  ['a job', { text: '/stop', origin: 'cron' }],
  ['a webhook', { text: '/stop', origin: 'hook' }],
  ['what people say to each other', { text: 'stop', mentioned: false }],
])('%s stops nothing', (_, message) => {
  expect(stops(message)).toBe(false);
});
