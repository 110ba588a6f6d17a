import * as z from 'zod';
import { errorMessage } from '../../util/errors.ts';

const issues = z.array(z.looseObject({ message: z.string(), path: z.array(z.union([z.string(), z.number()])) })).min(1);
const MOST_NAMED = 3;

/** What failed, on one line: of what does not fit a schema the fields and why, not the validator's whole report. */
export function failureWords(error: unknown): string {
  return withoutReports(errorMessage(error));
}

/** A text with each validator's report (a JSON list of issues) told in a few words. */
export function withoutReports(text: string): string {
  const from = text.indexOf('[');
  const to = text.lastIndexOf(']');
  if (from === -1 || to < from) return text;
  const found = issues.safeParse(parsed(text.slice(from, to + 1)));
  if (!found.success) return text;
  const named = found.data.slice(0, MOST_NAMED).map(({ message, path }) => {
    return path.length === 0 ? message : `${path.join('.')}: ${message}`;
  });
  const more = found.data.length > MOST_NAMED ? `; and ${found.data.length - MOST_NAMED} more` : '';
  const before = text.slice(0, from).trim();
  const lead = before === '' ? 'what it sent does not fit the protocol: ' : `${before} `;
  return `${lead}${named.join('; ')}${more}${text.slice(to + 1)}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
