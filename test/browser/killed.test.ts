import { expect } from 'vitest';
import { putLibrary } from '../support/browser-library.ts';
import { runCommand } from '../support/command-run.ts';
import { startServer } from '../support/http.ts';
import { startKilledGateway } from '../support/killed-gateway.ts';
import { tempFolder } from '../support/temp.ts';
import { testWith } from '../support/test-with.ts';
import { waitFor } from '../support/wait.ts';
import { browserProcesses, executable, NEEDED } from './browser-world.ts';

testWith(...NEEDED)(
  'the browser of the published program ends with it, however it is killed',
  { timeout: 120_000 },
  async () => {
    await using site = await startServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Bees</h1>');
    });
    const web = { allowHosts: [`127.0.0.1:${site.port}`] };
    await using folder = await tempFolder();
    await putLibrary(folder.path);
    await using gateway = await startKilledGateway({
      home: folder.path,
      config: { tools: { browser: { enabled: true, executable }, web } },
    });
    const { model, home } = gateway;
    model.reply({ calls: [{ name: 'browser', arguments: { action: 'open', url: `${site.url}/` } }] }, 'Bees.');
    const { out } = await runCommand(['chat', '-m', `Look at ${site.url}/`], home);
    expect(out).toContain('Bees.');
    expect(model.requests.at(-1)?.text).toContain('heading \\"Bees\\"');
    expect(browserProcesses(home).length).toBeGreaterThan(2);
    await gateway.kill();
    await waitFor(() => browserProcesses(home).length === 0, { what: 'no process of the browser' });
  },
);
