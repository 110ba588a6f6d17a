/** For checks of `assistant doctor`. */
export { failed, note, ok, warning } from '../doctor/check.ts';
export type { Check, Finding } from '../doctor/check.ts';
export type { Scene } from '../doctor/scene.ts';
export { channelsOf, tokenCheck, tokenFinding } from '../doctor/checks/channel-calls.ts';
