import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** A program that tries what a reader of documents that was taken over would try, and says what it could do. */

const TRIALS: Readonly<Record<string, () => unknown>> = {
  'read a file': () => readFileSync('/etc/hostname'),
  'write a file': () => writeFileSync('/tmp/confined-child', 'x'),
  'start a process': () => {
    const { error } = spawnSync('/bin/true');
    if (error !== undefined) throw error;
  },
  'start a thread': () => new Worker('0', { eval: true }),
  'read the environment': () => {
    if (process.env['HOME'] === undefined) throw new Error('there is none');
  },
};

const done = Object.entries(TRIALS).flatMap(([name, trial]) => {
  try {
    trial();
    return [name];
  } catch {
    return [];
  }
});
process.stdout.write(`${JSON.stringify({ facts: { tried: Object.keys(TRIALS).length, done } })}\n`);
