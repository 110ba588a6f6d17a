/** For `assistant init`: a platform as data, and what a part of the setup asks, tries and writes. */
export type { Bot, BotFacts, Checked, CodeSender, Platform } from './setup/platform.ts';
export type { SetupWorld } from './setup/world.ts';
export type { Setting } from './setup/save.ts';
export { packageFile } from './config/version.ts';
export { setUpHere, setUpRunning } from '../cli/assistant/init.ts';
