import { appendFileSync } from 'node:fs';

/** Where to append request bodies when a whole test run is recorded; see test/scripts/check-schemas.ts. */
export function recordingFile(): string | undefined {
  const file = process.env['ASSISTANT_TEST_RECORD'];
  return file === '' ? undefined : file;
}

/** Appends one line `{api, body}`. */
export function recordRequest(
  file: string,
  api: 'openai' | 'openai-responses' | 'anthropic' | 'ollama',
  body: unknown,
): void {
  appendFileSync(file, `${JSON.stringify({ api, body })}\n`);
}
