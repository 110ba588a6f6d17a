import { crosswiseSuite } from '../../support/crosswise-suite.ts';

crosswiseSuite(['widest']);
