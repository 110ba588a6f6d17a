import { testHostileMarkup } from '../support/markup-hostile-suite.ts';

testHostileMarkup(0.1);
