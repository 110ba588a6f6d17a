/** For checks of `assistant doctor`. */
export { failed, note, ok, skipped, warning } from '../doctor/check.ts';
export type { Check, Finding } from '../doctor/check.ts';
export type { Scene } from '../doctor/scene.ts';
export { isConflict } from '../doctor/checks/channels.ts';
export { channelsOf } from '../doctor/checks/channel-calls.ts';
