import * as z from 'zod';
import type { Operation } from '../../src/core/gateway/operations/operation.ts';
import { table } from './generated-part.ts';
import { parameterTable } from './tools-page.ts';

/** The list of operations, and a section for each with its parameters. */
export function operationSections(operations: Readonly<Record<string, Operation>>): string {
  const all = Object.entries(operations);
  const rows = all.map(([name, { role, changes }]) => [
    `[\`${name}\`](#${name.toLowerCase()})`,
    role,
    changes ? 'yes' : 'no',
  ]);
  const sections = all.map(([name, { description, params }]) => {
    const schema = z.toJSONSchema(params, { io: 'input' });
    const about = Object.keys(schema.properties ?? {}).length === 0 ? 'No parameters.' : parameterTable(schema);
    return `### ${name}\n\n${description}\n\n${about}`;
  });
  return [table(['operation', 'for', 'changes something'], rows), ...sections].join('\n\n');
}
