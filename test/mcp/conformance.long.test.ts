import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/temp.ts';
import { programOf } from './mcp-world.ts';

const CLIENT = fileURLToPath(new URL('conformance-client.ts', import.meta.url));

test.each(['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry'])(
  'the client passes the conformance scenario %s of the protocol',
  async (scenario) => {
    await using folder = await tempFolder();
    const suite = [programOf('@modelcontextprotocol/conformance'), 'client', '--scenario', scenario];
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [...suite, '--command', `${process.execPath} ${CLIENT}`, '--output-dir', folder.path],
      { cwd: folder.path },
    );
    expect(`${stdout}${stderr}`).toContain('OVERALL: PASSED');
    const files = await readdir(folder.path, { recursive: true });
    const checks = files.find((file) => file.endsWith('checks.json')) ?? 'checks.json';
    const all: { status: string }[] = JSON.parse(await readFile(join(folder.path, checks), 'utf8'));
    expect(all.map(({ status }) => status)).toContain('SUCCESS');
    expect(all.filter(({ status }) => status === 'FAILURE')).toEqual([]);
  },
);
