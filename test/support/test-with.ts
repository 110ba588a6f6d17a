import { describe, test, type TestContext, type TestOptions } from 'vitest';
import { missing, type ProgramName } from './programs.ts';

type Register<Body> = (title: string, ...rest: readonly [Body] | readonly [TestOptions, Body]) => void;

/** `test` that is skipped if one of these programs isn't installed; its title names the missing one. */
export function testWith(...names: readonly ProgramName[]): Register<(context: TestContext) => unknown> {
  return register(test, names);
}

/** `describe` that is skipped if one of these programs isn't installed; its title names the missing one. */
export function describeWith(...names: readonly ProgramName[]): Register<() => void> {
  return register(describe, names);
}

function register<Body>(
  api: { skipIf(condition: boolean): (title: string, options: TestOptions, body: Body) => void },
  names: readonly ProgramName[],
): Register<Body> {
  const reason = missing(...names);
  return (title, ...rest) => {
    const [options, body] = rest.length === 1 ? [{}, rest[0]] : rest;
    api.skipIf(reason !== undefined)(reason === undefined ? title : `${title} (${reason})`, options, body);
  };
}
