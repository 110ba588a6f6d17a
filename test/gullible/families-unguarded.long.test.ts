import '../support/internet-mock.ts';
import './no-guards.ts';
import { FAMILY_CASES } from './families.ts';
import { unguardedTests } from './unguarded.ts';

unguardedTests(FAMILY_CASES);
