/** For vendors of models: the contract, HTTP with a watchdog, and what their wires share. */
export { configuredWindow } from '../providers/context-window-registry.ts';
export { deadlinesOf, forThinking, isLocalAddress } from '../providers/endpoint.ts';
export type { EndpointOptions } from '../providers/endpoint.ts';
export { brokenStream, malformedAnswer } from '../providers/errors.ts';
export type { ErrorContext } from '../providers/errors.ts';
export { perExchange } from '../providers/exchanges.ts';
export { imagesOf, withImagesRead } from '../providers/images.ts';
export { openProvider, presetOf, providerAddressOf } from '../providers/open-provider.ts';
export type { ProviderConfig } from '../providers/open-provider.ts';
export type {
  AssistantPart,
  ModelError,
  ModelEvent,
  ModelRequest,
  ModelResponse,
  ModelToolCall,
  Provider,
  StopReason,
  UserPart,
} from '../providers/provider.ts';
export {
  EMPTY_ANSWER,
  argumentsObject,
  outputText,
  readablePart,
  systemMessage,
  wireName,
  wireRequest,
} from '../providers/transcript.ts';
export type { Exchange, ToolMessage, WireRequest } from '../providers/transcript.ts';
export { wireJson } from '../providers/wire-json.ts';
export { endpointFetch, streamCall } from '../providers/wrappers/stream-call.ts';
export { createWatchedFetch } from '../providers/wrappers/watchdog.ts';
export type { Fetch } from '../providers/wrappers/watchdog.ts';
export { questionsTo, serverId, versionIn } from '../providers/probe-context-window.ts';
export type { WindowQuestion } from '../providers/probe-context-window.ts';
export { rootOf } from '../providers/presets.ts';
export type { AskedWindow, Vendor, VendorPlace } from '../providers/vendor.ts';
export { argumentsText, failureIn, isLengthReason } from '../providers/answer-words.ts';
export { isRefusalReason } from '../providers/content-refusals.ts';
export { readUsage } from '../providers/read-usage.ts';
export { withQuirks } from '../providers/quirks.ts';
export type { WireBody } from '../providers/quirks.ts';
export { withTextCalls } from '../providers/wrappers/text-calls.ts';
export { countText } from '../util/text.ts';
