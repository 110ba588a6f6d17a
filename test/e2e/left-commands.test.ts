import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startKilledGateway } from '../support/killed-gateway.ts';
import { waitFor } from '../support/wait.ts';

/** Numbers of seconds that no other process sleeps. */
const [BEHIND, FRONT] = [`98${process.pid}.1`, `98${process.pid}.2`];

function runs(words: string): boolean {
  return readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/u.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(words.replace(' ', '\0'));
    } catch {
      return false;
    }
  });
}

test('a command without a sandbox that outlived a killed gateway is ended by the next start, with all it started', async () => {
  await using gateway = await startKilledGateway({ config: { tools: { exec: { mode: 'full' } } } });
  gateway.model.reply({
    calls: [{ name: 'exec', arguments: { command: `sleep ${BEHIND} & sleep ${FRONT}`, timeoutSeconds: 600 } }],
  });
  gateway.model.setHandler(() => 'It was cut off.');
  void fetch(`${gateway.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await gateway.token()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'assistant', messages: [{ role: 'user', content: 'sleep well' }] }),
  }).catch(() => {});
  await waitFor(() => runs(`sleep ${BEHIND}`) && runs(`sleep ${FRONT}`), { what: 'both commands' });
  await gateway.kill();
  expect([runs(`sleep ${BEHIND}`), runs(`sleep ${FRONT}`)]).toEqual([true, true]);
  await gateway.start();
  expect([runs(`sleep ${BEHIND}`), runs(`sleep ${FRONT}`)]).toEqual([false, false]);
});
