/** For vendors of models: the contract, HTTP with a watchdog, and what their wires share. */
export { configuredWindow } from './providers/context-window-registry.ts';
export { deadlinesOf, forThinking, isLocalAddress } from './providers/endpoint.ts';
export { nameErrors } from './providers/sdk-errors.ts';
export { sdkProvider } from './providers/sdk-provider.ts';
export { DONE } from './providers/server-events.ts';
export { tokensOfText } from './providers/token-estimate.ts';
export type { EndpointOptions } from './providers/endpoint.ts';
export { brokenStream, malformedAnswer } from './providers/errors.ts';
export type { ErrorContext } from './providers/errors.ts';
export { perExchange } from './providers/exchanges.ts';
export { imagesOf, withImagesRead } from './providers/images.ts';
export { openProvider, presetOf, providerAddressOf } from './providers/open-provider.ts';
export type { ProviderConfig } from './providers/open-provider.ts';
export type {
  AssistantPart,
  ModelError,
  ModelEvent,
  ModelMessage,
  ModelRequest,
  ModelResponse,
  ModelToolCall,
  Provider,
  ReasoningPart,
  StopReason,
  ToolChoice,
  ToolSpec,
  UserPart,
} from './providers/provider.ts';
export {
  EMPTY_ANSWER,
  argumentsObject,
  legalArguments,
  outputText,
  readablePart,
  systemMessage,
  wireName,
  wireRequest,
} from './providers/transcript.ts';
export type { Exchange, ToolMessage, WireRequest } from './providers/transcript.ts';
export { perObject, wireJson } from './providers/wire-json.ts';
export { clientsFor, endpointFetch, sdkTimeout, streamCall } from './providers/wrappers/stream-call.ts';
export { createWatchedFetch } from './providers/wrappers/watchdog.ts';
export type { Fetch } from './providers/wrappers/watchdog.ts';
export { questionsTo, serverId, versionIn } from './providers/probe-context-window.ts';
export type { WindowQuestion } from './providers/probe-context-window.ts';
export { rootOf } from './providers/presets.ts';
export type { Quirks } from './providers/presets.ts';
export type { AskedWindow, Vendor, VendorPlace } from './providers/vendor.ts';
export { argumentsText, failureIn, isLengthReason } from './providers/answer-words.ts';
export { isRefusalReason } from './providers/content-refusals.ts';
export { laterUsage, readUsage } from './providers/read-usage.ts';
export { withQuirks } from './providers/quirks.ts';
export type { WireBody } from './providers/quirks.ts';
export { withTextCalls } from './providers/wrappers/text-calls.ts';
export { DeadlineError } from './util/clock.ts';
export { isJson } from './util/bare-json.ts';
export { countText } from './util/text.ts';
export { noUsage } from './util/token-usage.ts';
export type { Usage } from './util/token-usage.ts';
