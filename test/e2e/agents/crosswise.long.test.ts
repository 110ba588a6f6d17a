import { crosswiseSuite } from '../../support/crosswise-suite.ts';

crosswiseSuite(['usual', 'widest']);
