import '../support/internet-mock.ts';
import { CASES } from './cases.ts';
import { guardedTests } from './guarded.ts';

guardedTests(CASES);
