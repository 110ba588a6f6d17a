import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../config/temporary-home.ts';
import { describeWith } from '../support/test-with.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { CTRL_C, CTRL_D, ENTER, Terminal } from './terminal.ts';

const PROMPT = 'you ›';

describeWith('python3')('/setup in a conversation', () => {
  test('sets the assistant up in the same terminal and continues with the model that was chosen', async () => {
    await using server = await startFakeOpenAi({ models: ['gpt-5.5'], handler: () => 'I am gpt-5.5.' });
    const home = temporaryFolder();
    const env = { ASSISTANT_HOME: home, OPENAI_BASE_URL: server.url, OLLAMA_HOST: 'http://127.0.0.1:47', TZ: 'UTC' };
    await using terminal = new Terminal(['gateway', '--port', '0'], env);
    await terminal.sees('Talking with demo/scripted');
    await terminal.answer(PROMPT, `hello${ENTER}`);
    await terminal.sees('type /setup in the terminal');
    await terminal.answer(PROMPT, `/setup${ENTER}`);
    await terminal.answer('Who provides the model?', CTRL_C);
    await terminal.sees('Stopped. Nothing was written.');
    await terminal.sees('Talking with demo/scripted');
    await terminal.answer(PROMPT, `/setup${ENTER}`);
    await terminal.answer('Who provides the model?', 'openai');
    await terminal.answer('Search: openai', ENTER);
    await terminal.answer('The API key of openai', `k${ENTER}`);
    await terminal.answer('Which model?', ENTER);
    await terminal.answer('Your time zone', ENTER);
    await terminal.answer('Where do you want to talk to it?', ENTER);
    await terminal.sees('Talking with openai/gpt-5.5');
    await terminal.answer(PROMPT, `who are you?${ENTER}`);
    await terminal.sees('I am gpt-5.5.');
    await terminal.answer(PROMPT, CTRL_D);
    expect(await terminal.ended).toBe(0);
    expect(readFileSync(join(home, 'config.json'), 'utf8')).toContain('"model": "openai/gpt-5.5"');
  });

  test('with a gateway that runs elsewhere sets it up, restarts it and continues with it', async () => {
    await using server = await startFakeOpenAi({ models: ['gpt-5.5'], handler: () => 'I am gpt-5.5.' });
    const home = temporaryFolder();
    const env = { ASSISTANT_HOME: home, OPENAI_BASE_URL: server.url, OLLAMA_HOST: 'http://127.0.0.1:47', TZ: 'UTC' };
    await using gateway = new Terminal(['gateway', '--port', '0'], env);
    await gateway.sees('Talking with demo/scripted');
    await using terminal = new Terminal(['chat'], env);
    await terminal.sees('in the running gateway');
    await terminal.answer(PROMPT, `/setup${ENTER}`);
    await terminal.answer('Who provides the model?', 'openai');
    await terminal.answer('Search: openai', ENTER);
    await terminal.answer('The API key of openai', `k${ENTER}`);
    await terminal.answer('Which model?', ENTER);
    await terminal.answer('Your time zone', ENTER);
    await terminal.answer('Where do you want to talk to it?', ENTER);
    await terminal.sees('Restarting.');
    await gateway.sees('Talking with openai/gpt-5.5');
    await terminal.answer(PROMPT, `who are you?${ENTER}`);
    await terminal.sees('I am gpt-5.5.');
  });
});
