/** For `assistant init`: how a part of the set-up asks, tries and says what is to be written. */
export { Cancelled } from './setup/asker.ts';
export type { ReadyChannel } from './setup/ready.ts';
export { channelError, chooseToken, ownerSettings } from './setup/token.ts';
export type { Checked } from './setup/token.ts';
export type { SetupWorld } from './setup/world.ts';
export type { Setting } from './setup/save.ts';
export { packageFile } from './config/version.ts';
export { CODE_MS, isCode, newCode } from './setup/code.ts';
export { DeadlineError } from './util/clock.ts';
export { setUpHere, setUpRunning } from '../cli/assistant/init.ts';
