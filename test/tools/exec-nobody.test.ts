import { createServer } from 'node:http';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { execWorld } from '../support/exec-world.ts';

const has = (program: string): boolean => ['/usr/bin', '/bin'].some((folder) => existsSync(join(folder, program)));
const HINT = 'There is no terminal and standard input is empty';

describe('a command that wants a person at a terminal ends within seconds', () => {
  const ended = async (command: string): Promise<{ readonly output: string; readonly isError?: boolean }> => {
    await using world = await execWorld('full');
    const begun = performance.now();
    const result = await world.run(command, { timeoutSeconds: 20 });
    expect(performance.now() - begun).toBeLessThan(15_000);
    return result;
  };

  test('git commit without a message', async () => {
    const { output, isError } = await ended(
      'git init -q . && git config user.name Me && git config user.email me@example.com && touch a && git add a && git commit',
    );
    expect(isError).toBe(true);
    expect(output).toContain(HINT);
  });

  test('git clone from a server that wants a password', async () => {
    await using server = createServer((_request, response) =>
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end(),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    const { output, isError } = await ended(`git -c credential.helper= clone http://127.0.0.1:${port}/x.git`);
    expect(isError).toBe(true);
    expect(output).toContain(HINT);
  });

  test.runIf(has('sudo'))('sudo that asks for a password', async () => {
    const { output } = await ended('sudo -k; sudo -S -p "" true < /dev/null; sudo true');
    expect(output).not.toContain('was ended after');
  });

  test.runIf(has('less'))('less, which shows all of it', async () => {
    const { output } = await ended('seq 200 > numbers; less numbers');
    expect(output).toContain('\n200');
  });

  test('git log, without its pager', async () => {
    const { output } = await ended(
      'git init -q . && git -c user.name=Me -c user.email=me@example.com commit -q --allow-empty -m first && git log',
    );
    expect(output).toContain('first');
  });

  test.each(['vi notes.md', 'sudo nano /etc/hosts', "sh -c 'emacs x'"])(
    'an editor does not start: %s',
    async (command) => {
      const { output, isError } = await ended(command);
      expect(isError).toBe(true);
      expect(output).toContain('would wait for a person, but there is no terminal here');
    },
  );

  test('an editor that is told what to do starts', async () => {
    expect((await ended('vim -es -c q; emacs --batch; nano --version; true')).output).not.toContain('no terminal here');
  });
});
