import '../support/internet-mock.ts';
import './no-guards.ts';
import { CASES, someOf } from './cases.ts';
import { unguardedTests } from './unguarded.ts';

/** Every third harm; the long run tries them all. */
unguardedTests(someOf(CASES, 3));
