import '../support/internet-mock.ts';
import './no-guards.ts';
import { CASES } from './cases.ts';
import { unguardedTests } from './unguarded.ts';

unguardedTests(CASES);
