import * as z from 'zod';
import type { Operation } from '../../src/core/gateway/operations/operation.ts';
import { table } from './generated-part.ts';
import { parameterTable } from './tools-page.ts';

/** The list of operations, and a section for each with its parameters. */
export function operationSections(operations: readonly Operation[]): string {
  const rows = operations.map(({ name, role = 'owner', changes }) => [
    `[\`${name}\`](#${name.toLowerCase()})`,
    role,
    changes === null ? 'no' : 'yes',
  ]);
  const sections = operations.map(({ name, about, input }) => {
    const schema = z.toJSONSchema(input, { io: 'input' });
    const parameters = Object.keys(schema.properties ?? {}).length === 0 ? 'No parameters.' : parameterTable(schema);
    return `### ${name}\n\n${about}\n\n${parameters}`;
  });
  return [table(['operation', 'for', 'changes something'], rows), ...sections].join('\n\n');
}
