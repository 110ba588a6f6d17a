import { testHostileMarkup } from '../support/markup-hostile-suite.ts';

testHostileMarkup({ scale: 1, answerMs: 2 });
