import { isLocalAddress, type EndpointOptions } from './endpoint.ts';
import type { ErrorContext } from './errors.ts';
import { withImagesRead } from './images.ts';
import type { ModelEvent, ModelRequest, Provider } from './provider.ts';
import { withQuirks, type WireBody } from './quirks.ts';
import { serverEvents, type DONE } from './server-events.ts';
import { wireJson } from './wire-json.ts';
import { clientsFor, streamCall } from './wrappers/stream-call.ts';
import { withTextCalls } from './wrappers/text-calls.ts';

/** The options of a streamed request whose body is JSON already, as the SDKs take them. */
export interface SdkRequest {
  readonly body: Uint8Array;
  readonly headers: { readonly 'content-type': 'application/json' };
  readonly stream: true;
  readonly signal: AbortSignal;
}

/** What only one API has, over its official SDK. */
export interface SdkAdapter<Client, Body extends object, Raw extends object> {
  /** Loads the SDK and opens a client for this endpoint. */
  readonly open: (endpoint: EndpointOptions) => Promise<Client>;
  /** The body of a request whose images were read. The same request always gives the same bytes. */
  readonly body: (request: ModelRequest) => Body;
  /** Sends a request and gives the response as it came. */
  readonly send: (client: Client, request: SdkRequest) => PromiseLike<Response>;
  readonly read: (raw: AsyncIterable<Raw | typeof DONE>, context: ErrorContext) => AsyncIterable<ModelEvent>;
}

/** A provider over an official SDK, which is loaded at the first call; `extraBody` of its endpoint goes over each body. */
export function sdkProvider<Client, Body extends object, Raw extends object>(
  endpoint: EndpointOptions,
  { open, body, send, read }: SdkAdapter<Client, Body, Raw>,
): Provider {
  const connect = clientsFor(endpoint, open);
  const bodyOf = (request: ModelRequest): WireBody => Object.assign({}, body(request), endpoint.extraBody);
  return {
    name: endpoint.name,
    local: isLocalAddress(endpoint.baseUrl),
    chat: (request, { signal }) =>
      withTextCalls(
        streamCall({
          endpoint,
          request,
          signal,
          body: bodyOf,
          send: async (whole, signal) => {
            // A request that cannot be written down fails before anything is loaded or opened.
            const body = wireJson(whole);
            const headers = { 'content-type': 'application/json' } as const;
            return serverEvents<Raw>(await send(await connect(request), { body, headers, stream: true, signal }));
          },
          read,
        }),
        request,
      ),
    body: async (request) => {
      const quirks =
        request.quirks ?? endpoint.learned?.quirks({ provider: endpoint.name, model: request.model }) ?? [];
      return JSON.stringify(withQuirks(bodyOf(await withImagesRead(request)), quirks));
    },
    warm: async () => {
      await connect().catch(() => {});
    },
  };
}
