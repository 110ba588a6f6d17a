/**
 * Whether a finish reason says that the answer failed midway: what gateways write when the server behind them failed. Other
 * words, also ones that nobody has seen yet, end an answer that is whole.
 */
export function isBrokenReason(reason: string): boolean {
  return /error|abort|cancel|fail|time_?out|interrupt|disconnect|malformed|insufficient|overload|unavailable/iu.test(
    reason,
  );
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
