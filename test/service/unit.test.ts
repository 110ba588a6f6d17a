import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { placesOf, SYSTEM_HOME, type Kind, type Places } from '../../src/service/places.ts';
import { plistText } from '../../src/service/plist.ts';
import { unitText } from '../../src/service/unit.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { findProgram, missing } from '../support/programs.ts';
import { testWith } from '../support/test-with.ts';

const HOST = {
  platform: 'linux',
  uid: 1000,
  user: 'anna',
  userHome: '/home/anna',
  node: '',
  program: '',
  root: '/',
} as const;
const HOMES = { user: '/home/anna/.assistant', system: SYSTEM_HOME, launchd: '/Users/anna/.assistant' };

function places(kind: Kind, home = HOMES[kind]): Places {
  return placesOf(kind, { host: HOST, home, configFolder: '/home/anna/.config' });
}

const noAnalyze = missing('systemd-analyze');
const skipped = noAnalyze === undefined ? '' : ` (${noAnalyze})`;

/** The unit in a folder of its own, with a launcher that is there. */
function written(kind: 'user' | 'system'): string {
  const folder = temporaryFolder();
  const launcher = join(folder, 'launcher');
  writeFileSync(launcher, '#!/bin/sh\n');
  chmodSync(launcher, 0o755);
  const path = join(folder, 'assistant.service');
  writeFileSync(path, unitText({ ...places(kind), launcher }));
  return path;
}

describe('the unit of systemd', () => {
  test.each(['user', 'system'] as const)('%s: is as it was', (kind) => {
    expect(unitText(places(kind))).toMatchSnapshot();
  });

  test('docs/systemd.md shows the one of the machine', () => {
    const page = readFileSync(fileURLToPath(new URL('../../docs/systemd.md', import.meta.url)), 'utf8');
    expect(/```ini\n(?<unit>[\s\S]*?)```/u.exec(page)?.groups?.['unit']).toBe(unitText(places('system')));
  });

  test.runIf(noAnalyze === undefined).each(['user', 'system'] as const)(
    `%s: systemd finds no mistake in it${skipped}`,
    (kind) => {
      const scope = kind === 'user' ? ['--user'] : [];
      const runtime = temporaryFolder();
      mkdirSync(join(runtime, 'systemd'));
      const { status, stderr } = spawnSync('systemd-analyze', [...scope, '--man=no', 'verify', written(kind)], {
        encoding: 'utf8',
        env: { ...process.env, XDG_RUNTIME_DIR: runtime },
      });
      const about = stderr
        .split('\n')
        .filter((line) => line.includes('assistant.service') && !/Command .* is not exec/u.test(line));
      expect(about).toEqual([]);
      expect(status).toBe(0);
    },
  );

  test.runIf(noAnalyze === undefined).each(['user', 'system'] as const)(
    `%s: systemd calls its exposure 4.0 at most${skipped}`,
    (kind) => {
      const { stdout, stderr } = spawnSync('systemd-analyze', ['security', '--offline=true', written(kind)], {
        encoding: 'utf8',
      });
      const found = /Overall exposure level for assistant\.service: (?<level>[\d.]+)/u.exec(stdout)?.groups?.['level'];
      expect(Number(found), stderr).toBeLessThanOrEqual(4);
    },
  );

  test.each(['user', 'system'] as const)('%s: openat2, which bubblewrap 0.12 needs, is not forbidden', (kind) => {
    // systemd answers openat2 with ENOSYS where this is set.
    expect(unitText(places(kind))).not.toContain('RestrictSUIDSGID');
  });

  test('a home of one person stays open to a service of the machine', () => {
    const text = unitText(places('system', '/home/anna/.assistant'));
    expect(text).toContain('ProtectHome=read-only\nReadWritePaths=/home/anna/.assistant\n');
    expect(unitText(places('system', '/srv/assistant'))).toContain(
      'ReadWritePaths=/var/lib/assistant -/srv/assistant\n',
    );
  });
});

test('the agent of launchd is as it was, and names no key', () => {
  expect(plistText(places('launchd'))).toMatchSnapshot();
});

testWith('python3')('the agent of launchd is a property list', () => {
  const program = 'import plistlib,sys,json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))';
  const { stdout } = spawnSync(findProgram('python3') ?? '', ['-c', program], {
    input: plistText(places('launchd', '/Users/anna/a+b/.assistant')),
    encoding: 'utf8',
  });
  expect(JSON.parse(stdout)).toMatchObject({
    Label: 'local.assistant',
    ProgramArguments: ['/Users/anna/a+b/.assistant/bin/assistant-service'],
    EnvironmentVariables: { ASSISTANT_HOME: '/Users/anna/a+b/.assistant' },
    KeepAlive: true,
    Umask: 0o077,
  });
});
