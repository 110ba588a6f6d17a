/** For checks of `assistant doctor`. */
export { failed, note, ok, warning } from './util/finding.ts';
export type { Finding, Found } from './util/finding.ts';
export type { Check } from './doctor/check.ts';
export type { Scene } from './doctor/scene.ts';
export { channelsOf } from './doctor/channel-token.ts';
