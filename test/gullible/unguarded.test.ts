import '../support/internet-mock.ts';
import './no-guards.ts';
import { CASES, someOf } from './cases.ts';
import { someOfFamilies } from './families.ts';
import { unguardedTests } from './unguarded.ts';

/** One of each kind: what is fetched, what is read, what is said, what stands in the prompt. */
const WAYS: ReadonlySet<string> = new Set([
  'a page',
  'a PDF that was downloaded',
  'what a group said before its owner asked',
  'a skill',
]);

/** Every fifth harm by these ways; the long runs try all by all. */
unguardedTests([
  ...someOf(
    CASES.filter(({ carrier }) => WAYS.has(carrier.name)),
    5,
  ),
  ...someOfFamilies(1),
]);
