import { testHostileMarkup } from '../support/markup-hostile-suite.ts';

// Beside other tests everything takes longer.
testHostileMarkup({ scale: 0.03, answerMs: 10 });
