import { AppError } from '../../util/errors.ts';
import { misfit } from '../../util/misfit.ts';
import { nearest, oneLine } from '../../util/text.ts';
import type { AssistantPort, CallOptions } from '../assistant-port.ts';
import type { Operation } from './operation.ts';
import { isRequestName, OPERATIONS, type RequestName } from './operations.ts';

const LONGEST_NAME = 60;
/** Characters of a parameter's value in the audit log. */
const LONGEST_VALUE = 400;

/**
 * Calls an operation by what came from outside. Throws one sentence: `operation-unknown` for a name that is none,
 * `operation-invalid` for parameters that do not fit, and what the operation itself throws.
 */
export async function callOperation(
  assistant: Pick<AssistantPort, 'request'>,
  { name, params }: { readonly name?: unknown; readonly params?: unknown },
  options?: CallOptions,
): Promise<unknown> {
  const known = operationName(name);
  const wrong = misfit(params, OPERATIONS[known].params, known);
  if (wrong !== null) throw new AppError('operation-invalid', `${wrong}.`, { facts: { operation: known } });
  return await assistant.request(known, OPERATIONS[known].params.parse(params), options);
}

/** Whether the answer says what runs or ran, of which only configured secrets may be missing. */
export function showsRuns(name: unknown): boolean {
  if (typeof name !== 'string' || !isRequestName(name)) return false;
  const operation: Operation = OPERATIONS[name];
  return operation.showsRuns === true;
}

/** The line of the audit log for a call; null when it changes nothing. */
export function auditLine(name: RequestName, params: Readonly<Record<string, unknown>>): string | null {
  const operation: Operation = OPERATIONS[name];
  if (!operation.changes) return null;
  if (operation.audit !== undefined) return operation.audit(params);
  const values = Object.values(params).map((value) =>
    oneLine(typeof value === 'string' ? value : JSON.stringify(value), LONGEST_VALUE),
  );
  return [name.replaceAll(/[A-Z]/gu, (letter) => ` ${letter.toLowerCase()}`), ...values].join(' ');
}

function operationName(name: unknown): RequestName {
  if (typeof name === 'string' && isRequestName(name)) return name;
  const given = typeof name === 'string' ? oneLine(name, LONGEST_NAME) : '';
  const guess = nearest(given, Object.keys(OPERATIONS));
  throw new AppError(
    'operation-unknown',
    `There is no operation ${JSON.stringify(given)}.${guess === undefined ? '' : ` Did you mean ${guess}?`}`,
  );
}
