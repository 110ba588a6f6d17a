import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { replaceDurable } from '../storage/files.ts';
import { errorCode } from '../util/errors.ts';

/** Agreements to plugins: name of the package → fingerprint that a person agreed to. */
export type PluginPins = ReadonlyMap<string, string>;

const pinsSchema = z.record(z.string(), z.string());

/** Reads the agreements. Empty when the file does not exist; throws one sentence without a full stop when it is damaged. */
export function readPluginPins(path: string): PluginPins {
  try {
    return new Map(Object.entries(pinsSchema.parse(JSON.parse(readFileSync(path, 'utf8')))));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return new Map();
    throw new Error(`${path} is damaged; delete it, then agree to your plugins again`, { cause: error });
  }
}

/** Changes agreements; null removes one. Resolves when the file is durable. */
export async function changePluginPins(path: string, changed: ReadonlyMap<string, string | null>): Promise<void> {
  const pins = new Map<string, string | null>([...readPluginPins(path), ...changed]);
  const kept = Object.fromEntries([...pins].filter(([, pin]) => pin !== null));
  await replaceDurable(path, `${JSON.stringify(kept, null, 2)}\n`);
}
