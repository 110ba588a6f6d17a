import { readFileSync } from 'node:fs';
import { candidates } from './candidates.ts';
import type { CliCommand, Group } from '../core/cli/command.ts';

// In the published package, launcher.cjs starts this for `__complete`: loading the program would take too long for each Tab.
const rows = JSON.parse(readFileSync(new URL('./commands.json', import.meta.url), 'utf8')) as (CliCommand | Group)[];
for (const line of candidates(rows, process.argv.slice(3))) process.stdout.write(`${line}\n`);
