/**
 * How one call goes wrong. `reset-before` and a plain status: the server did not take it. `reset-after`: it took it, then
 * the connection breaks. `hang`: no answer ever. `taken` says that the server did take it. `delayMs` holds the answer back;
 * what is taken is taken at once, also when the client does not wait.
 */
export type TelegramFault =
  | 'reset-before'
  | 'reset-after'
  | 'hang'
  | { readonly hang: true; readonly taken?: boolean; readonly delayMs?: number }
  | {
      readonly status: number;
      /** Seconds; for 429. */
      readonly retryAfter?: number;
      readonly description?: string;
      /** Where the chat is now; for 400. */
      readonly movedTo?: number;
      /** JSON as the API answers, or HTML as a proxy before it does. @default 'json' */
      readonly body?: 'json' | 'html';
      readonly taken?: boolean;
      readonly delayMs?: number;
    }
  /** It took the call, and says "ok" with another result. */
  | { readonly result: unknown }
  | { readonly delayMs: number };

export type FaultHandler = (call: {
  readonly method: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Counts every call from 0. */
  readonly index: number;
}) => TelegramFault | undefined;

interface FaultPlan {
  readonly taken: boolean;
  readonly delayMs?: number;
  readonly end: 'reset' | 'hang' | 'html' | 'json' | 'answer';
  /** For the record of calls; undefined when the call ends with its own status. */
  readonly label: number | string | undefined;
  readonly status: number;
  readonly description: string;
  readonly retryAfter?: number;
  readonly movedTo?: number;
  /** In place of the call's own result. */
  readonly result?: unknown;
}

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  403: 'Forbidden: bot was blocked by the user',
  429: 'Too Many Requests: retry later',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
};

export function describeFault(fault: TelegramFault): FaultPlan {
  const plain = { status: 0, description: '' };
  if (fault === 'reset-before') return { ...plain, taken: false, end: 'reset', label: fault };
  if (fault === 'reset-after') return { ...plain, taken: true, end: 'reset', label: fault };
  if (fault === 'hang') return { ...plain, taken: false, end: 'hang', label: fault };
  if ('hang' in fault) {
    return { ...plain, taken: fault.taken === true, delayMs: fault.delayMs, end: 'hang', label: 'hang' };
  }
  if ('result' in fault) return { ...plain, taken: true, end: 'answer', label: undefined, result: fault.result };
  if (!('status' in fault)) return { ...plain, taken: true, delayMs: fault.delayMs, end: 'answer', label: undefined };
  return {
    taken: fault.taken === true,
    delayMs: fault.delayMs,
    end: fault.body ?? 'json',
    label: fault.status,
    status: fault.status,
    description: fault.description ?? DESCRIPTIONS[fault.status] ?? 'Bad Request',
    retryAfter: fault.retryAfter,
    movedTo: fault.movedTo,
  };
}
