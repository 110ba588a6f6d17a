import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ServiceMachine } from './fake-systemd.ts';

const UNIT = '.config/systemd/user/assistant.service';
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('assistant service install', () => {
  test('makes a unit, a launcher and a file for keys, and starts it for this person', async () => {
    const machine = new ServiceMachine();
    const { line, home, userHome } = machine;
    expect(await line.run('service', 'install'), line.err).toBe(0);
    expect(machine.changes).toEqual([
      'systemctl --user daemon-reload',
      'systemctl --user enable assistant.service',
      'systemctl --user restart assistant.service',
    ]);
    const unit = readFileSync(join(userHome, UNIT), 'utf8');
    expect(unit).toContain(`Environment=ASSISTANT_HOME=${home}\n`);
    expect(unit).toContain(`ExecStart=${home}/bin/assistant-service\n`);
    expect(unit).not.toContain(process.execPath);
    expect(modeOf(join(home, 'service.env'))).toBe('600');
    expect(modeOf(join(home, 'bin/assistant-service'))).toBe('755');
    expect(line.out).toContain('The service is installed and running.\n');
    expect(line.out).toContain(`Keys go into ${home}/service.env, one NAME=value on each line`);
  });

  test('hands no key of the terminal to a file or a program', async () => {
    const machine = new ServiceMachine();
    await machine.line.run('service', 'install');
    const { home, userHome } = machine;
    const files = [join(userHome, UNIT), join(home, 'service.env'), join(home, 'bin/assistant-service')];
    expect([...files.map((file) => readFileSync(file, 'utf8')), ...machine.calls].join('\n')).not.toContain('sk-ant');
  });

  test('with --copy-keys writes the keys that the configuration takes from the terminal, and says which', async () => {
    const machine = new ServiceMachine();
    const { line, home } = machine;
    mkdirSync(home);
    const config = { providers: { near: { kind: 'openai', baseUrl: 'http://127.0.0.1:1/v1', apiKey: '${NEAR}' } } };
    writeFileSync(join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 });
    writeFileSync(join(home, 'service.env'), 'OPENAI_API_KEY=mine');
    line.env = {
      ...line.env,
      NEAR: 'sk "$HOME" \\ #1',
      OPENAI_API_KEY: 'sk-other',
      ASSISTANT_AGENT__TIMEZONE: 'UTC',
      TELEGRAM_BOT_TOKEN: "it's",
      SOMETHING_ELSE: 'stays',
    };
    expect(await line.run('service', 'install', '--copy-keys'), line.err).toBe(0);
    const file = join(home, 'service.env');
    expect(line.out).toContain(`Copied into ${file}: ANTHROPIC_API_KEY, ASSISTANT_AGENT__TIMEZONE, NEAR.\n`);
    expect(line.out).toContain(
      'TELEGRAM_BOT_TOKEN was not copied, because it has a line break or an apostrophe. Keep it in a file, and name that in config.json: {"file": "…"}\n',
    );
    expect(readFileSync(file, 'utf8')).toBe(
      `OPENAI_API_KEY=mine\nANTHROPIC_API_KEY='sk-ant-of-this-terminal'\nASSISTANT_AGENT__TIMEZONE='UTC'\nNEAR='sk "$HOME" \\ #1'\n`,
    );
    expect(modeOf(file)).toBe('600');
    expect(line.out).not.toContain('sk-ant');
    expect(machine.calls.join('\n')).not.toContain('sk-ant');
    line.out = '';
    expect(await line.run('service', 'install')).toBe(0);
    expect(line.out).toContain('its configuration needs TELEGRAM_BOT_TOKEN.');
  });

  test.each([
    ['y', true],
    ['n', false],
  ])('asks in a terminal whether it shall copy them: %s', async (answer, isCopied) => {
    const machine = new ServiceMachine({ terminal: true });
    const { line, home } = machine;
    const ended = line.run('service', 'install');
    await line.shows(/Copy ANTHROPIC_API_KEY into [^]*, which you alone can/u);
    expect(machine.changes).toEqual([]);
    line.type(`${answer}\n`);
    expect(await ended).toBe(0);
    const text = readFileSync(join(home, 'service.env'), 'utf8');
    expect(text.includes('sk-ant-of-this-terminal')).toBe(isCopied);
    expect(line.out.includes('service install --copy-keys')).toBe(!isCopied);
  });

  test('keeps the keys of an earlier installation, and closes their file', async () => {
    const machine = new ServiceMachine();
    const file = join(machine.home, 'service.env');
    mkdirSync(machine.home);
    writeFileSync(file, 'OPENAI_API_KEY=mine\n', { mode: 0o644 });
    expect(await machine.line.run('service', 'install')).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe('OPENAI_API_KEY=mine\n');
    expect(modeOf(file)).toBe('600');
  });

  test('turns lingering on, and names the command where that needs rights', async () => {
    const machine = new ServiceMachine();
    machine.program('loginctl', 'case "$1" in show-user) echo no ;; esac');
    expect(await machine.line.run('service', 'install')).toBe(0);
    expect(machine.changes).toContain('loginctl enable-linger anna');
    expect(machine.line.out).toContain('Lingering is on for anna');

    const other = new ServiceMachine();
    other.program('loginctl', 'case "$1" in show-user) echo no ;; *) echo "Access denied" >&2; exit 1 ;; esac');
    expect(await other.line.run('service', 'install')).toBe(0);
    expect(other.line.out).toContain(
      'The service ends when you log out, because lingering is off. Turn it on with: sudo loginctl enable-linger anna\n',
    );
  });

  test('names what is missing where the person has no D-Bus session, and writes nothing', async () => {
    const machine = new ServiceMachine();
    machine.program('systemctl', 'echo "Failed to connect to bus: No medium found" >&2; exit 1');
    expect(await machine.line.run('service', 'install')).toBe(1);
    expect(machine.line.err).toBe(
      'systemd has no session for anna (Failed to connect to bus: No medium found). Install the package dbus-user-session, then log in anew as anna (not with su or sudo), so that XDG_RUNTIME_DIR is set; or install for the machine with: sudo npm run assistant -- service install --system\n',
    );
    expect(existsSync(machine.home)).toBe(false);
  });

  test.each([
    ['echo "System has not been booted with systemd as init system" >&2; exit 1', 'This machine does not run systemd'],
    [
      'case "$*" in *Version*) echo 252 ;; *restart*) echo "Job failed." >&2; exit 1 ;; esac',
      '`systemctl --user restart assistant.service` failed: Job failed. Look at what happened with: journalctl --user-unit assistant -n 50\n',
    ],
  ])('says in one sentence what failed: %s', async (script, sentence) => {
    const machine = new ServiceMachine();
    machine.program('systemctl', script);
    expect(await machine.line.run('service', 'install')).toBe(1);
    expect(machine.line.err).toContain(sentence);
  });

  test('says in one sentence that there is no systemctl', async () => {
    const { line, folder } = new ServiceMachine();
    line.env = { ...line.env, PATH: join(folder, 'nothing') };
    expect(await line.run('service', 'install')).toBe(1);
    expect(line.err).toBe('The program systemctl could not be started: it is not installed.\n');
  });

  test('refuses a copy of npx, a program for one person alone, and a home with spaces', async () => {
    const { line } = new ServiceMachine();
    const { host } = line;
    line.host = { ...host, program: '/home/anna/.npm/_npx/abc/node_modules/assistantd/dist/launcher.cjs' };
    expect(await line.run('service', 'install')).toBe(1);
    expect(line.err).toContain('This is a copy that npx made for a moment. Install the package first');
    line.err = '';
    line.host = { ...host, uid: 0, node: '/root/.nvm/versions/node/v24.1.0/bin/node' };
    expect(await line.run('service', 'install', '--system')).toBe(1);
    expect(line.err).toContain('/root/.nvm/versions/node/v24.1.0/bin/node lies in a folder of one person');
    line.err = '';
    line.host = host;
    expect(await line.run('service', 'install', '--home', '/home/anna/my assistant')).toBe(1);
    expect(line.err).toContain('but it is /home/anna/my assistant. Choose another one with --home.');
  });
});

describe('assistant service install --system', () => {
  test('needs root, and says so', async () => {
    const machine = new ServiceMachine();
    expect(await machine.line.run('service', 'install', '--system')).toBe(1);
    expect(machine.line.err).toBe(
      'A service of the machine needs root. Run the same command with sudo, or leave out --system.\n',
    );
    expect(machine.calls).toEqual([]);
  });

  test('makes a user of its own, the unit of the machine, and a launcher that finds the program on the PATH', async () => {
    const machine = new ServiceMachine();
    const { line, root, folder } = machine;
    line.host = { ...line.host, uid: 0, user: 'root', node: '/opt/gone/node', program: '/opt/gone/launcher.cjs' };
    machine.program('id', `[ -e ${folder}/made ] && echo ${process.getuid?.()}`);
    machine.program('useradd', `touch ${folder}/made`);
    symlinkSync(process.execPath, join(folder, 'fake-bin/node'));
    symlinkSync(fileURLToPath(new URL('../../src/launcher.cjs', import.meta.url)), join(folder, 'fake-bin/assistant'));
    const home = join(folder, 'srv');
    expect(await line.run('service', 'install', '--system', '--home', home), line.err).toBe(0);
    expect(machine.changes).toEqual([
      'useradd --system --user-group --create-home --home-dir /var/lib/assistant --shell /usr/sbin/nologin assistant',
      'systemctl daemon-reload',
      'systemctl enable assistant.service',
      'systemctl restart assistant.service',
    ]);
    const unit = readFileSync(join(root, 'etc/systemd/system/assistant.service'), 'utf8');
    expect(unit).toContain('User=assistant\n');
    expect(unit).toContain(`EnvironmentFile=-${home}/service.env\n`);
    expect(modeOf(join(root, 'usr/local/lib/assistant'))).toBe('755');
    expect(modeOf(home)).toBe('700');
  });
});

describe('the other commands', () => {
  test('mean the service of the machine where this person has none; install makes their own', async () => {
    const machine = new ServiceMachine();
    const { line, root, userHome } = machine;
    mkdirSync(join(root, 'etc/systemd/system'), { recursive: true });
    writeFileSync(join(root, 'etc/systemd/system/assistant.service'), 'Environment=ASSISTANT_HOME=/srv/assistant\n');
    machine.state('loaded', 'active');
    expect(await line.run('service', 'status')).toBe(0);
    expect(line.out).toContain('home      /srv/assistant\n');
    expect(await line.run('service', 'stop')).toBe(1);
    expect(line.err).toContain('A service of the machine needs root.');
    expect(await line.run('service', 'install'), line.err).toBe(0);
    expect(existsSync(join(userHome, UNIT))).toBe(true);
    expect(await line.run('service', 'stop')).toBe(0);
    expect(machine.changes.at(-1)).toBe('systemctl --user stop assistant.service');
  });

  test('status says that nothing is installed', async () => {
    const { line } = new ServiceMachine();
    expect(await line.run('service', 'status')).toBe(1);
    expect(line.out).toBe('not installed\ninstall   npm run assistant -- service install\n');
  });

  test('status says whether it runs, since when, for which home, and whether it lingers', async () => {
    const machine = new ServiceMachine();
    const { line, home, userHome } = machine;
    await line.run('service', 'install');
    line.out = '';
    machine.state(
      'loaded',
      'active',
      "'StateChangeTimestamp=Mon 2026-11-23 17:00:00 UTC' MainPID=77 'StatusText=demo'",
    );
    line.env = { ...line.env, ASSISTANT_HOME: '/somewhere/else' };
    expect(await line.run('service', 'status')).toBe(0);
    expect(line.out).toBe(
      [
        'running',
        'state     active (running), since Mon 2026-11-23 17:00:00 UTC',
        'process   77',
        'says      demo',
        'enabled   yes, it starts by itself',
        'linger    on, it continues after you log out',
        `home      ${home}`,
        `unit      ${join(userHome, UNIT)}\n`,
      ].join('\n'),
    );
    line.out = '';
    expect(await line.run('service', 'status', '--json')).toBe(0);
    expect(JSON.parse(line.out)).toMatchObject({
      installed: true,
      running: true,
      enabled: true,
      linger: true,
      pid: 77,
      home,
    });
    machine.state('loaded', 'failed');
    expect(await line.run('service', 'status')).toBe(1);
  });

  test.each(['start', 'restart', 'install', 'status'])(
    '%s names the check of a configuration that keeps the service from starting',
    async (act) => {
      const machine = new ServiceMachine();
      await machine.line.run('service', 'install');
      machine.line.out = '';
      machine.state(
        'loaded',
        'failed',
        `ExecMainStatus=78 ;;\n  *ExecMainStatus*) echo 78 ;;\n  *start*) echo "Job for it failed" >&2; exit 1`,
      );
      expect(await machine.line.run('service', act)).toBe(1);
      expect(machine.line.out + machine.line.err).toMatch(
        /configuration cannot run[.;] [Ss]ee .*npm run assistant -- config check --home \S+\/\.assistant\n/u,
      );
      expect(machine.line.err).not.toContain('journalctl');
    },
  );

  test.each(['start', 'stop', 'restart'])('%s does that, and says where it is not installed', async (act) => {
    const machine = new ServiceMachine();
    expect(await machine.line.run('service', act)).toBe(1);
    expect(machine.line.err).toBe(
      'The service is not installed. Install it with: npm run assistant -- service install\n',
    );
    machine.state('loaded', 'active');
    expect(await machine.line.run('service', act)).toBe(0);
    expect(machine.changes).toEqual([`systemctl --user ${act} assistant.service`]);
  });

  test('logs shows the journal of the unit, and follows it until Ctrl-C', async () => {
    const machine = new ServiceMachine();
    const { line } = machine;
    expect(await line.run('service', 'logs'), line.err).toBe(0);
    expect(line.out).toBe('2026-11-23 ready\n');
    machine.program('journalctl', 'echo first; exec sleep 60');
    line.out = '';
    const following = line.run('service', 'logs', '-f');
    await expect.poll(() => line.out, { timeout: 20_000 }).toBe('first\n');
    line.signal('SIGINT');
    expect(await following).toBe(0);
    expect(machine.changes).toEqual([
      'journalctl --user-unit assistant.service --lines=200 --no-pager --output=short-iso',
      'journalctl --user-unit assistant.service --lines=200 --no-pager --output=short-iso --follow',
    ]);
    machine.program('journalctl', 'echo "No journal files were opened due to insufficient permissions." >&2; exit 1');
    expect(await line.run('service', 'logs')).toBe(1);
    expect(line.err).toContain('No journal files were opened due to insufficient permissions.');
  });

  test('uninstall stops it, removes unit and launcher, and keeps the home', async () => {
    const machine = new ServiceMachine();
    const { line, home, userHome } = machine;
    await line.run('service', 'install');
    const before = machine.changes.length;
    expect(await line.run('service', 'uninstall')).toBe(0);
    expect(machine.changes.slice(before)).toEqual([
      'systemctl --user disable --now assistant.service',
      'systemctl --user daemon-reload',
      'systemctl --user reset-failed assistant.service',
    ]);
    expect(existsSync(join(userHome, UNIT))).toBe(false);
    expect(existsSync(dirname(join(home, 'bin/assistant-service')))).toBe(false);
    expect(existsSync(join(home, 'service.env'))).toBe(true);
    expect(line.out).toContain(`The home was not changed: ${home}\n`);
  });
});

describe('on macOS', () => {
  test('a launchd agent is written, loaded, shown and removed', async () => {
    const machine = new ServiceMachine();
    const { line, home, userHome } = machine;
    line.host = { ...line.host, platform: 'darwin', uid: 501 };
    machine.program('launchctl', '[ "$1" != print ]');
    machine.program('tail', 'echo ready');
    expect(await line.run('service', 'install'), line.err).toBe(0);
    const plist = join(userHome, 'Library/LaunchAgents/local.assistant.plist');
    expect(readFileSync(plist, 'utf8')).toContain(`<string>${home}/bin/assistant-service</string>`);
    expect(readFileSync(join(home, 'bin/assistant-service'), 'utf8')).toContain(`'${home}/service.env'`);
    machine.program('launchctl', 'printf "\\tstate = running\\n\\tpid = 12\\n"');
    line.out = '';
    expect(await line.run('service', 'status')).toBe(0);
    expect(line.out).toContain('running\nstate     running\nprocess   12\n');
    expect(await line.run('service', 'logs')).toBe(0);
    expect(await line.run('service', 'restart')).toBe(0);
    expect(await line.run('service', 'uninstall')).toBe(0);
    expect(existsSync(plist)).toBe(false);
    expect(machine.changes.filter((call) => !call.includes(' print '))).toEqual([
      'launchctl version',
      'launchctl enable gui/501/local.assistant',
      `launchctl bootstrap gui/501 ${plist}`,
      `tail -n 200 ${home}/logs/service.log`,
      'launchctl kickstart -k gui/501/local.assistant',
      'launchctl bootout gui/501/local.assistant',
    ]);
  });
});

describe('assistant init --service', () => {
  test('installs the service of this home and starts it', async () => {
    const machine = new ServiceMachine();
    const { line, home, userHome } = machine;
    expect(await line.run('init', '--yes', '--provider', 'demo', '--service'), line.err).toBe(0);
    expect(machine.changes.at(-1)).toBe('systemctl --user restart assistant.service');
    expect(readFileSync(join(userHome, UNIT), 'utf8')).toContain(`Environment=ASSISTANT_HOME=${home}\n`);
    expect(line.out).toContain('The service is installed and running.');
    expect(line.out).toContain(
      `To copy them into ${home}/service.env: npm run assistant -- service install --copy-keys`,
    );
    expect(readFileSync(join(home, 'service.env'), 'utf8')).not.toContain('sk-ant');
    expect(line.out).toContain('It is running. In a terminal you reach it with: npm run chat');
  });

  test('on a machine without systemd says how to start it, and with which exit code it ends', async () => {
    const machine = new ServiceMachine();
    machine.program('systemctl', 'echo "System has not been booted with systemd as init system" >&2; exit 1');
    expect(await machine.line.run('init', '--yes', '--provider', 'demo', '--service')).toBe(1);
    expect(machine.line.err).toContain('This machine does not run systemd');
    expect(machine.line.err).toContain('Start the assistant with: npm start');
    expect(await machine.line.run('init', '--yes', '--provider', 'demo')).toBe(0);
    expect(machine.line.out).toContain('Start it with: npm start');
  });
});
