import { describe, test, type TestContext, type TestOptions } from 'vitest';
import { missing, type ProgramName } from './programs.ts';

type Register<Body> = (title: string, ...rest: readonly [Body] | readonly [TestOptions, Body]) => void;

/** `test` that is skipped if one of these programs isn't installed; its title names the missing one. */
export function testWith(...names: readonly ProgramName[]): Register<(context: TestContext) => unknown> {
  return testUnless(missing(...names));
}

/** `test` that is skipped if there is a reason, which its title says then. */
export function testUnless(
  reason: string | undefined,
  options: TestOptions = {},
): Register<(context: TestContext) => unknown> {
  return register(test, reason, options);
}

/** `describe` that is skipped if one of these programs isn't installed; its title names the missing one. */
export function describeWith(...names: readonly ProgramName[]): Register<() => void> {
  return register(describe, missing(...names));
}

function register<Body>(
  api: { skipIf(condition: boolean): (title: string, options: TestOptions, body: Body) => void },
  reason: string | undefined,
  common: TestOptions = {},
): Register<Body> {
  return (title, ...rest) => {
    const [options, body] = rest.length === 1 ? [common, rest[0]] : [{ ...common, ...rest[0] }, rest[1]];
    api.skipIf(reason !== undefined)(reason === undefined ? title : `${title} (${reason})`, options, body);
  };
}
