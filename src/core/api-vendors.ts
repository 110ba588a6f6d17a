/** For the row of a vendor, and others about models, which every command reads. */
export { keysOf } from './providers/endpoint.ts';
export { lazyProvider } from './providers/lazy-provider.ts';
export { usualKind } from './providers/presets.ts';
export type { Preset } from './providers/presets.ts';
export type { ProviderConfig } from './providers/open-provider.ts';
export type { AskedWindow, Embed, Synthesize, Transcribe, Vendor, VendorPlace } from './providers/vendor.ts';
export { optionalUrl, text } from './config/schema/values.ts';
export type { SpeechPart, SpeechState } from './extension.ts';
export type { Program } from './program.ts';
export { switchedOff } from './util/text.ts';
