/** For `/why`. */
export type { WhyStep, WhyStory } from './agent/why/facts.ts';
export { withoutStop } from './agent/why/words.ts';
export type { OwnStep } from './gateway/operations/activity.ts';
