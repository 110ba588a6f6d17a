import { expect, test } from 'vitest';
import { CommandLine } from '../cli/command-line.ts';
import { doctor, furnishedHome, type Row } from '../doctor/doctor-home.ts';

const KEY = 'sk-test-key-of-a-healthy-home';
/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:47';

test('the doctor says where recordings go, and where spoken answers are made', async () => {
  const { line } = await furnishedHome({ voice: { baseUrl: 'http://127.0.0.1:9000/v1', model: 'small' } });
  const voice = async (): Promise<readonly Row[]> =>
    (await doctor(line, '--offline')).checks.filter(({ id }) => id === 'voice.server');
  const own = 'Voice messages are turned into text by small; recordings go to 127.0.0.1:9000.';
  expect(await voice()).toMatchObject([{ state: 'ok', evidence: own }]);
  const { line: keyed } = await furnishedHome();
  keyed.env = { ...keyed.env, GROQ_API_KEY: KEY };
  const { checks } = await doctor(keyed, '--offline');
  const groq =
    'Voice messages are turned into text by whisper-large-v3-turbo of groq; recordings go to api.groq.com. To switch that off, set voice.provider to null.';
  expect(checks).toContainEqual({ id: 'voice.server', state: 'ok', evidence: groq, remedy: null });
  await line.run('config', 'set', 'voice.speech', '{"baseUrl": "http://127.0.0.1:8880/v1", "model": "kokoro"}');
  const speaks = 'Answers are spoken by kokoro when you ask for it; their text goes to 127.0.0.1:8880.';
  expect(await voice()).toMatchObject([{ evidence: own }, { state: 'ok', evidence: speaks }]);
  await line.run('config', 'set', 'voice', '{"provider": "nobody"}');
  const unknown = 'voice.provider is "nobody": openai and groq are known; any other needs voice.baseUrl.';
  expect(await voice()).toMatchObject([{ state: 'failed', evidence: unknown }]);
});

test('`assistant init` says once that recordings go to a provider whose key is there, and status says it too', async () => {
  const line = new CommandLine();
  line.env = { GROQ_API_KEY: 'gsk-0123456789', OLLAMA_HOST: NOWHERE };
  const where = 'turned into text by whisper-large-v3-turbo of groq; recordings go to api.groq.com';
  expect(await line.run('init', '--yes', '--provider', 'groq', '--model', 'm', '--no-check')).toBe(0);
  const [, ...more] = line.out.split(`Voice messages are ${where}. To switch that off: `);
  expect(more).toHaveLength(1);
  expect(more[0]).toMatch(/^\S.* config set voice\.provider null\n/u);
  expect(await line.run('status')).toBe(0);
  expect(line.out).toContain(`voice     ${where}\n`);
  expect(await line.run('config', 'set', 'voice.provider', 'null')).toBe(0);
  line.out = '';
  expect(await line.run('status')).toBe(0);
  expect(line.out).not.toContain('voice');
  expect(await line.run('init', '--yes', '--no-check')).toBe(0);
  expect(line.out).not.toContain('Voice messages');
});
