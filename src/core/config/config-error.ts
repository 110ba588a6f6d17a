import { AppError } from '../util/errors.ts';

/** A place in a text; both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One thing in a configuration that the assistant cannot run with. */
export interface ConfigProblem {
  /** The setting, its keys joined by dots; empty where the text itself is broken. */
  readonly path: string;
  /** What is wrong, as one sentence without its place and without a secret. */
  readonly sentence: string;
  /** Where in the file; undefined where the value does not come from the file. */
  readonly place: Position | undefined;
}

/** A problem with its place, as in `config.json:3:5: …`. */
export function placed({ sentence, place }: ConfigProblem, file: string): string {
  return place === undefined ? sentence : `${file}:${place.line}:${place.column}: ${sentence}`;
}

/** A configuration that the assistant cannot run with; exit code 78. Its message names the first of its problems. */
export class ConfigError extends AppError {
  readonly problems: readonly ConfigProblem[];

  constructor(message: string, problems: readonly ConfigProblem[], facts: Record<string, unknown>) {
    super('config-invalid', message, { exitCode: 78, facts });
    this.problems = problems;
  }
}
