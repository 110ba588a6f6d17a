import { defineExtension } from '../../core/api.ts';
import { traceRows } from './cli.ts';
import { turnsSave } from './operation.ts';

/** Saves turns in files and runs them again, to compare their model requests or with a real model. docs/replay.md */
export default defineExtension({
  name: 'traces',
  operations: [turnsSave],
  cli: [traceRows],
});
