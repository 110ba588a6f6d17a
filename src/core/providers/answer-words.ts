import { brokenStream, malformedAnswer, type ErrorContext } from './errors.ts';
import type { ModelError } from './provider.ts';

/**
 * The error that a finish reason stands for: the server couldn't use what the model wrote, such as Gemini's
 * `MALFORMED_FUNCTION_CALL`, or a gateway says that the server behind it failed. Null for other words, also ones that
 * nobody has seen yet, which end an answer that is whole.
 */
export function failureIn(reason: string, context: ErrorContext): ModelError | null {
  if (/malformed/iu.test(reason)) return malformedAnswer(context, 'its tool call was malformed');
  const isBroken = /error|abort|cancel|fail|time_?out|interrupt|disconnect|insufficient|overload|unavailable/iu.test(
    reason,
  );
  return isBroken ? brokenStream(context) : null;
}

/** Whether a finish reason says that the answer reached its longest length. */
export function isLengthReason(reason: string): boolean {
  return /^(?:length|model_length|max_(?:output_|completion_)?tokens|model_context_window_exceeded)$/iu.test(reason);
}

/** The JSON text of a call's arguments. Most servers send text, some an object. */
export function argumentsText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
