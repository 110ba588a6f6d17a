import { MOST_RETRIES } from '../bus/run.ts';
import { AppError } from '../util/errors.ts';
import { nearest } from '../util/text.ts';
import type { SendInput } from './assistant-port.ts';

/** Throws `run-invalid` with one sentence if the run options of a message are invalid. `known`: the names of all tools. */
export function checkRun({ tools, timeoutMs, retries }: SendInput, known: readonly string[]): void {
  if (tools !== undefined) {
    const unknown = tools.find((name) => !known.includes(name));
    if (unknown !== undefined) {
      const guess = nearest(unknown, known);
      const hint = guess === undefined ? `There are ${known.join(', ')}.` : `Did you mean ${guess}?`;
      throw invalid(`tools: there is no tool ${JSON.stringify(unknown)}. ${hint}`);
    }
  }
  if (timeoutMs !== undefined && !(timeoutMs > 0 && Number.isFinite(timeoutMs))) {
    throw invalid(`timeoutMs must be a number of milliseconds above 0, but ${timeoutMs} was given.`);
  }
  if (retries !== undefined && !(Number.isInteger(retries) && retries >= 0 && retries <= MOST_RETRIES)) {
    throw invalid(`retries must be a whole number from 0 to ${MOST_RETRIES}, but ${retries} was given.`);
  }
}

function invalid(sentence: string): AppError {
  return new AppError('run-invalid', sentence);
}
