import * as z from 'zod';
import * as z3 from 'zod/v3';
import { describe, expect, test } from 'vitest';
import { PathGuard } from '../../src/core/security/paths/open-inside.ts';
import { applyPatchTool, editFileTool } from '../../src/extensions/files/edit.ts';
import { globTool, grepTool } from '../../src/extensions/files/search/search.ts';
import { listDirTool } from '../../src/extensions/files/list-dir.ts';
import { readFileTool } from '../../src/extensions/files/read-file.ts';
import { toJsonSchema } from '../../src/core/tools/json-schema.ts';
import { writeFileTool } from '../../src/extensions/files/write-file.ts';
import { PATHS } from '../support/extensions.ts';

const guard = new PathGuard({
  paths: PATHS,
  workspace: '/w/workspace',
  home: '/w',
  readRoots: [],
  restrictToWorkspace: true,
});
const changes = { recordChange: async (): Promise<void> => {} };
const find = (): Promise<never> => Promise.reject(new Error('not called'));
const tools = [
  readFileTool({ guard, pageChars: 15_600, readDocument: () => Promise.reject(new Error('not called')) }),
  writeFileTool({ guard, changes }),
  editFileTool({ guard, changes }),
  applyPatchTool({ guard, changes }),
  listDirTool(guard),
  globTool({ guard, pageChars: 15_600, find }),
  grepTool({ guard, pageChars: 15_600, find }),
].map((tool) => ({ tool, name: tool.name, spec: toJsonSchema(tool.parameters) }));

describe.each(tools)('$name', ({ tool, spec }) => {
  test('names exactly the fields that must be given', () => {
    const needed = Object.entries(tool.parameters.shape).filter(([, field]) => !field.safeParse(undefined).success);
    expect(spec['required'] ?? []).toEqual(needed.map(([key]) => key));
  });

  test('carries nothing that tells a model nothing', () => {
    expect(JSON.stringify(spec)).not.toMatch(/\$schema|additionalProperties|9007199254740991/u);
  });
});

describe('turning a schema into JSON Schema', () => {
  test('zod 4: types, choices, defaults and what is optional, without ranges', () => {
    const schema = z.object({
      count: z.int().min(1).max(9).default(3).describe('How many'),
      mode: z.enum(['fast', 'slow']).optional(),
      names: z.array(z.string()).min(1),
    });
    expect(toJsonSchema(schema)).toEqual({
      type: 'object',
      properties: {
        count: { type: 'integer', default: 3, description: 'How many' },
        mode: { type: 'string', enum: ['fast', 'slow'] },
        names: { type: 'array', items: { type: 'string' } },
      },
      required: ['names'],
    });
  });

  test('zod 3, as plugins bring it, gives the same', () => {
    const schema = z3.object({
      path: z3.string().describe('File'),
      count: z3.number().int().min(1).optional(),
      inner: z3.object({ all: z3.boolean() }).optional(),
    });
    expect(toJsonSchema(schema)).toEqual({
      type: 'object',
      properties: {
        path: { type: 'string', description: 'File' },
        count: { type: 'integer' },
        inner: { type: 'object', properties: { all: { type: 'boolean' } }, required: ['all'] },
      },
      required: ['path'],
    });
  });

  test('zod 3: a shape used twice is written out twice', () => {
    const point = z3.object({ x: z3.number() });
    expect(JSON.stringify(toJsonSchema(z3.object({ from: point, to: point })))).not.toContain('$ref');
  });

  test('bounds are for the check of a call, a field of that name is not', () => {
    const schema = z.object({ few: z.int().max(5), text: z.string().min(1), minimum: z.int().describe('At least') });
    expect(toJsonSchema(schema)['properties']).toEqual({
      few: { type: 'integer' },
      text: { type: 'string' },
      minimum: { type: 'integer', description: 'At least' },
    });
  });

  test('what the values of a record are is kept', () => {
    expect(properties(toJsonSchema(z.object({ env: z.record(z.string(), z.number()) })))['env']).toMatchObject({
      type: 'object',
      additionalProperties: { type: 'number' },
    });
  });

  test('a field may be named like a keyword', () => {
    const fields = properties(toJsonSchema(z.object({ $schema: z.string(), additionalProperties: z.string() })));
    expect(Object.keys(fields)).toEqual(['$schema', 'additionalProperties']);
  });

  test('no fields are an object without properties', () => {
    expect(toJsonSchema(z.object({}))).toEqual({ type: 'object', properties: {} });
  });

  test('a schema that JSON cannot express is refused at registration', () => {
    expect(() => toJsonSchema(z.object({ when: z.date() }))).toThrow();
  });
});

function properties(spec: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return z.record(z.string(), z.unknown()).parse(spec['properties']);
}
