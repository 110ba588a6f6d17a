import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryFolder } from '../config/temporary-home.ts';
import { CTRL_D, ENTER, Terminal } from './terminal.ts';

const NOWHERE = 'http://127.0.0.1:47';
/** From the first question to the first answer of the assistant. */
export const MOST_SECONDS = 180;

/** The questions. */
export const PROVIDER = 'Who provides the model?';
export const MODEL = 'Which model?';
export const ZONE = 'Your time zone';
export const WHERE = 'Where do you want to talk to it?';
const HOW = 'How should it run?';

/** A person at a fresh machine; `settings` only say where the servers of this test are. */
export function sitDown(
  settings: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>> = {},
): Terminal {
  const home = temporaryFolder();
  writeFileSync(join(home, 'config.json'), JSON.stringify({ gateway: { port: 0 }, ...settings }));
  return new Terminal(['init'], { ASSISTANT_HOME: home, OLLAMA_HOST: NOWHERE, TZ: 'Europe/Vienna', ...env });
}

/** Types what narrows the list down to this provider. */
export async function chooseProvider(terminal: Terminal, name: string): Promise<void> {
  await terminal.sees(PROVIDER);
  await terminal.types(name);
  await terminal.answer(`Search: ${name}`, ENTER);
}

/** Chooses to run it in this terminal. */
export async function runHere(terminal: Terminal): Promise<void> {
  await terminal.sees(HOW);
  await terminal.choose('in this terminal, now');
  await terminal.sees('Talking with');
}

/** Ends the talk; nothing went wrong. */
export async function leave(terminal: Terminal): Promise<void> {
  await terminal.answer('you ›', CTRL_D);
  expect(await terminal.ended).toBe(0);
}
