import { cut, cutStart, oneLine } from '../util/text.ts';
import type { ToolMetadata, ToolResult } from './tool.ts';

const HEAD = 1_200;
const TAIL = 600;

/** A result that says why nothing was done or what went wrong. */
export function errorResult(title: string, output: string, metadata: ToolMetadata = {}): ToolResult {
  return { title, output, metadata, isError: true };
}

/** What the model reads: one header line made of the title and the facts, then the output. */
export function renderResult({ title, output, metadata, isError }: ToolResult): string {
  const facts = Object.entries(metadata)
    .filter(([, value]) => value !== null && value !== false)
    .map(([key, value]) => `${key}=${oneLine(String(value), 200)}`);
  const header = `[${[oneLine(title, 120), ...(isError === true ? ['error'] : []), ...facts].join(' · ')}]`;
  return output === '' ? header : `${header}\n${output}`;
}

/** At most `limit` characters: beyond it the head and the tail with a sentence between them. */
export function capOutput(output: string, limit: number): string {
  if (output.length <= limit) return output;
  const left = output.length - HEAD - TAIL;
  return `${cut(output, HEAD)}\n\n[… ${left} of ${output.length} characters are left out here; ask for a smaller part to see them …]\n\n${cutStart(output, TAIL)}`;
}
