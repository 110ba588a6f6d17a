import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { sentenceOf } from '../../src/core/util/finding.ts';
import { loadConfig, type LoadedConfig } from '../../src/core/config/load.ts';
import { AppError } from '../../src/core/util/errors.ts';

/** A folder that is gone after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'assistant-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Loads a configuration file with this text; undefined is no file. */
export async function load(
  text: string | undefined,
  env: Readonly<Record<string, string>> = {},
  overrides: Readonly<Record<string, unknown>> = {},
): Promise<LoadedConfig & { readonly warnings: readonly string[] }> {
  const home = temporaryFolder();
  if (text !== undefined) writeFileSync(join(home, 'config.json'), text);
  const loaded = await loadConfig({ program: PROGRAM, home, env, overrides });
  return { ...loaded, warnings: loaded.findings.map(sentenceOf) };
}

/** The error that a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<AppError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('did not fail');
}
