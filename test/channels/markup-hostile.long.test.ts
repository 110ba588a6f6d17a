import { testHostileMarkup } from '../support/markup-hostile-suite.ts';

testHostileMarkup(1);
