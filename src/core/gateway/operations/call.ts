import type * as z from 'zod';
import { AppError } from '../../util/errors.ts';
import { misfit } from '../../util/misfit.ts';
import { nearest, oneLine } from '../../util/text.ts';
import type { CallOptions, OwnAssistant } from '../assistant-port.ts';
import { changedBy } from './changes.ts';
import type { NamedOperation, Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

const LONGEST_NAME = 60;
/** Characters of a parameter's value in the audit log. */
const LONGEST_VALUE = 400;

/** What is known of an operation by its name. */
export interface KnownOperation {
  readonly params: z.ZodObject;
  readonly showsRuns: boolean;
  /** The line of the audit log for a call; null when it changes nothing. */
  readonly auditLine: (params: Readonly<Record<string, unknown>>) => string | null;
  /** What shows other things after it; undefined: nothing. */
  readonly changed: string | undefined;
  /** Undefined: the core's own. */
  readonly own: NamedOperation | undefined;
}

/** The operations of the core and of the extensions that run. */
export class OperationTable {
  readonly #known = new Map<string, KnownOperation>();
  readonly #off: ReadonlyMap<string, string>;

  /** `off`: the operations of extensions that are switched off, with the sentence that says so. */
  constructor(extensions: readonly NamedOperation[], off: ReadonlyMap<string, string> = new Map()) {
    this.#off = off;
    for (const [name, operation] of Object.entries<Operation>(OPERATIONS)) {
      const { params, showsRuns = false, changes } = operation;
      const auditLine = changes ? lineOf(name, (given) => operation.audit?.(given)) : () => null;
      this.#known.set(name, { params, showsRuns, auditLine, changed: changedBy(name), own: undefined });
    }
    for (const own of extensions) {
      const { name, params, showsRuns = false, changes } = own;
      const auditLine = changes === null ? () => null : lineOf(name, (given) => own.audit?.(given));
      this.#known.set(name, { params, showsRuns, auditLine, changed: changes ?? undefined, own });
    }
  }

  get names(): readonly string[] {
    return [...this.#known.keys()];
  }

  /** Throws `operation-unknown`, or why the extension that has it is off. */
  get(name: unknown): KnownOperation {
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
}

/**
 * Calls an operation by what came from outside. Throws one sentence: `operation-unknown` for a name that is none,
 * `operation-invalid` for parameters that do not fit, and what the operation itself throws.
 */
export async function callOperation(
  assistant: Pick<OwnAssistant, 'request' | 'operations'>,
  { name, params }: { readonly name?: unknown; readonly params?: unknown },
  options?: CallOptions,
): Promise<unknown> {
  const { params: schema } = assistant.operations.get(name);
  const wrong = misfit(params, schema, String(name));
  if (wrong !== null) throw new AppError('operation-invalid', `${wrong}.`, { facts: { operation: name } });
  return await assistant.request(String(name) as never, schema.parse(params) as never, options);
}

/** Whether the answer says what runs or ran, of which only configured secrets may be missing. */
export function showsRuns({ operations }: Pick<OwnAssistant, 'operations'>, name: unknown): boolean {
  try {
    return operations.get(name).showsRuns;
  } catch {
    return false;
  }
}

function lineOf(
  name: string,
  audit: (params: never) => string | null | undefined,
): (params: Readonly<Record<string, unknown>>) => string | null {
  return (params) => {
    const own = audit(params as never);
    if (own !== undefined) return own;
    const values = Object.values(params).map((value) =>
      oneLine(typeof value === 'string' ? value : JSON.stringify(value), LONGEST_VALUE),
    );
    return [name.replaceAll(/[A-Z]/gu, (letter) => ` ${letter.toLowerCase()}`), ...values].join(' ');
  };
}
