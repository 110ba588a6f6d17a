import '../support/internet-mock.ts';
import './no-guards.ts';
import { SOME_OF_FAMILIES } from './families.ts';
import { unguardedTests } from './unguarded.ts';

unguardedTests(SOME_OF_FAMILIES);
