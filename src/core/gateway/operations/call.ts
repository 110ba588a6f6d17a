import { atLeast } from '../../security/access/access.ts';
import { AppError } from '../../util/errors.ts';
import { misfit } from '../../util/misfit.ts';
import { nearest, oneLine } from '../../util/text.ts';
import type { CallOptions, OwnAssistant } from '../assistant-port.ts';
import type { Caller, Operation } from './operation.ts';

const LONGEST_NAME = 60;
/** Characters of a parameter's value in the audit log. */
const LONGEST_VALUE = 400;

/** Operations by name. */
export class OperationTable {
  readonly #known: ReadonlyMap<string, Operation>;
  readonly #off: ReadonlyMap<string, string>;

  /** `off`: the operations of extensions that are switched off, with the sentence that says so. */
  constructor(operations: readonly Operation[], off: ReadonlyMap<string, string> = new Map()) {
    this.#known = new Map(operations.map((one) => [one.name, one]));
    this.#off = off;
  }

  get names(): readonly string[] {
    return [...this.#known.keys()];
  }

  /** Throws `operation-unknown`, or why the extension that has it is off. */
  get(name: unknown): Operation {
    const found = typeof name === 'string' ? this.#known.get(name) : undefined;
    if (found !== undefined) return found;
    const given = typeof name === 'string' ? oneLine(name, LONGEST_NAME) : '';
    const isOff = this.#off.get(given);
    if (isOff !== undefined) throw new AppError('operation-unknown', isOff);
    const guess = nearest(given, this.names);
    throw new AppError(
      'operation-unknown',
      `There is no operation ${JSON.stringify(given)}.${guess === undefined ? '' : ` Did you mean ${guess}?`}`,
    );
  }

  /** Whether the answer says what runs or ran, of which only configured secrets may be missing. */
  showsRuns(name: unknown): boolean {
    return typeof name === 'string' && this.#known.get(name)?.showsRuns === true;
  }
}

/**
 * Calls an operation by what came from outside. Throws one sentence: `operation-unknown` for a name that is none,
 * `operation-invalid` for parameters that do not fit, and what the operation itself throws.
 */
export async function callOperation(
  assistant: Pick<OwnAssistant, 'call' | 'operations'>,
  { name, params }: { readonly name?: unknown; readonly params?: unknown },
  options?: CallOptions,
): Promise<unknown> {
  const { input } = assistant.operations.get(name);
  const wrong = misfit(params, input, String(name));
  if (wrong !== null) throw new AppError('operation-invalid', `${wrong}.`, { facts: { operation: name } });
  return await assistant.call(String(name) as never, input.parse(params) as never, options);
}

/** Throws `operation-refused` for a caller whose role is below that of the operation. */
export function requireRole({ name, role = 'owner' }: Pick<Operation, 'name' | 'role'>, by: Caller): void {
  if (!atLeast(by.role, role))
    throw new AppError('operation-refused', `${name} needs the role ${role}, but ${by.door} has the role ${by.role}.`);
}

/** The line of the audit log for a call; null when it changes nothing. */
export function auditLine(one: Operation, input: Readonly<Record<string, unknown>>): string | null {
  if (one.changes === null) return null;
  const own = one.audit?.(input);
  if (own !== undefined) return own;
  const values = Object.values(input).map((value) =>
    oneLine(typeof value === 'string' ? value : JSON.stringify(value), LONGEST_VALUE),
  );
  return [one.name.replaceAll(/[A-Z]/gu, (letter) => ` ${letter.toLowerCase()}`), ...values].join(' ');
}
