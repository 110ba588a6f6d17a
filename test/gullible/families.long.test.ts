import '../support/internet-mock.ts';
import { FAMILY_CASES } from './families.ts';
import { guardedTests } from './guarded.ts';

guardedTests(FAMILY_CASES);
