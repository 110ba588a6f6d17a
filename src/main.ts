import { enableCompileCache } from 'node:module';

// Nothing else is imported before the version is known: older Nodes can not read the rest.
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `assistant needs Node 24 or newer; this is Node ${process.versions.node}. Get it from https://nodejs.org.\n`,
  );
  process.exit(1);
}
enableCompileCache();
void import('./cli/run.ts').then(({ main }) => main());
