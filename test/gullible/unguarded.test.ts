import '../support/internet-mock.ts';
import './no-guards.ts';
import { CASES, someOf } from './cases.ts';
import { unguardedTests } from './unguarded.ts';

unguardedTests(someOf(CASES, 12));
