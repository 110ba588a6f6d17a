/** For what reads the memory: what a hit is known to be, and questions that name a time. */
export { knownOf } from './memory/facts/hits.ts';
export { recordKey } from './memory/files/facts.ts';
export { searchByQuestion } from './memory/time/search-by-question.ts';
export { shortened } from './agent/prompt/layers.ts';
export { stampOf as fileStamp, textOf as fileText } from './agent/prompt/system-prompt.ts';
export type { PromptLayerSource } from './agent/prompt/system-prompt.ts';
export { seesPrivate } from './security/access/access.ts';
