import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startKilledGateway } from '../support/killed-gateway.ts';
import { waitFor } from '../support/wait.ts';

/** Numbers of seconds that no other process sleeps. */
const [BEHIND, FRONT] = [`98${process.pid}.1`, `98${process.pid}.2`];

/** Processes whose command line, with spaces between its words, has this form. */
function found(form: RegExp): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && form.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' '));
      } catch {
        return false;
      }
    });
}

const runs = (words: string): boolean => found(new RegExp(`^${words} `, 'u')).length > 0;

test.each([
  ['a subreaper that could not act', `sleep ${BEHIND} &`],
  ['what hid itself', `nohup sh -c '(setsid env -i sleep ${BEHIND} &)' >/dev/null 2>&1;`],
])('a command without a sandbox ends with a killed gateway or at its next start, with %s', async (what, command) => {
  await using gateway = await startKilledGateway({ config: { tools: { exec: { mode: 'full' } } } });
  gateway.model.reply({
    calls: [{ name: 'exec', arguments: { command: `${command} sleep ${FRONT}`, timeoutSeconds: 600 } }],
  });
  gateway.model.setHandler(() => 'It was cut off.');
  void fetch(`${gateway.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await gateway.token()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'assistant', messages: [{ role: 'user', content: 'sleep well' }] }),
  }).catch(() => {});
  await waitFor(() => runs(`sleep ${BEHIND}`) && runs(`sleep ${FRONT}`), { what: 'both commands' });
  const isStopped = what.startsWith('a subreaper');
  if (isStopped)
    for (const pid of found(new RegExp(`^/usr/bin/perl .*sleep ${FRONT}`, 'su'))) process.kill(pid, 'SIGSTOP');
  await gateway.kill();
  if (isStopped) expect([runs(`sleep ${BEHIND}`), runs(`sleep ${FRONT}`)]).toEqual([true, true]);
  await gateway.start();
  await waitFor(() => !runs(`sleep ${BEHIND}`) && !runs(`sleep ${FRONT}`), { what: 'the end of both' });
});
