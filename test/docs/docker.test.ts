import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string): Promise<string> => readFile(join(ROOT, name), 'utf8');

test('the image is made of what is in the clone and is not ignored', async () => {
  const ignored = (await read('.dockerignore')).split('\n').filter(Boolean);
  const copied = [...(await read('Dockerfile')).matchAll(/^COPY (?!--from)(.+) \S+$/gmu)].flatMap(([, names = '']) =>
    names.split(' '),
  );
  expect(copied).toContain('skills');
  for (const name of copied) {
    const [first = ''] = name.split('/');
    expect(existsSync(join(ROOT, first)), name).toBe(true);
    expect(ignored).not.toContain(first);
  }
});

test('the health check asks the port on which the gateway listens', async () => {
  const text = await read('Dockerfile');
  const port = /"--port", "(?<port>\d+)"/u.exec(text)?.groups?.['port'];
  expect(port).toBeDefined();
  expect(text).toContain(`http://127.0.0.1:${port}/health`);
});

test('compose.yaml gives the least rights with which the sandbox was seen to work', async () => {
  const { services } = parse(await read('compose.yaml')) as { services: Record<string, Record<string, unknown>> };
  expect(services['assistant']).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true', 'seccomp=./docs/container-seccomp.json'],
  });
  const filter = JSON.parse(await read('docs/container-seccomp.json')) as { syscalls: { names: string[] }[] };
  const names = filter.syscalls.flatMap((rule) => rule.names);
  expect(names).toEqual(names.toSorted());
  for (const name of ['clone', 'clone3', 'unshare', 'mount', 'umount2', 'pivot_root', 'sethostname', 'prctl'])
    expect(names).not.toContain(name);
});
