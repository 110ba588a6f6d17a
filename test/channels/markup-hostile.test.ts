import { testHostileMarkup } from '../support/markup-hostile-suite.ts';

// Beside other tests everything takes longer.
testHostileMarkup({ scale: 0.05, answerMs: 10 });
