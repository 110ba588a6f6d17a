import type { App } from '../../app.ts';
import { API_CHANNEL, type GivenMessage } from '../../bus/api.ts';
import type { InboundDraft, Media } from '../../bus/messages.ts';
import { localRole } from '../../security/access/access.ts';
import { storeImages, textOf, type StoredMessage } from './content.ts';
import { ApiError } from './errors.ts';
import { FollowedTurn } from './followed-turn.ts';
import { keyOf, sessionOf, type MessageRef } from './identity.ts';
import type { ReadRequest, RequestFacts } from './request.ts';

/** Characters of all texts of a request. */
const MOST_CHARS = 2_000_000;

export interface Asked extends Pick<RequestFacts, 'ask'> {
  readonly ref: MessageRef;
  readonly request: ReadRequest;
  /** Without tools. */
  readonly light: boolean;
}

/**
 * Publishes the message of a request and returns the turn that answers it. Of a session with a name the conversation is
 * what is on its tape; any other gets the one that the program brings. The same message twice is one turn.
 */
export async function beginTurn({ ref, request, ask, light }: Asked, app: App): Promise<FollowedTurn> {
  const brought = ref.isEphemeral ? request.conversation : request.results;
  const messages = await storeImages([...brought, request.newest], app.api.keepImage);
  const newest = messages.at(-1);
  const chars = messages.reduce((sum, message) => sum + textOf(message).length, request.instructions.length);
  if (chars > MOST_CHARS) {
    throw new ApiError(400, `The request has ${chars} characters; at most ${MOST_CHARS} are taken.`, {
      code: 'context_length_exceeded',
    });
  }
  if (newest === undefined || newest.content.every((part) => part.type === 'text' && part.text.trim() === '')) {
    throw new ApiError(400, 'The message to answer is empty.');
  }
  const { instructions, json } = request;
  const conversation = messages.slice(0, -1).map(givenOf);
  const draft: InboundDraft = {
    ...draftOf(ref, textOf(newest), app),
    media: newest.images.map(mediaOf),
    metadata: { [API_CHANNEL]: { instructions, json, conversation, light, ask } },
  };
  const turn = new FollowedTurn(ref, app.bus.sessionOf(draft), app, { json });
  try {
    const [accepted] = await app.bus.publishInbound(draft);
    if (accepted === 'duplicate') turn.isLate();
    if (accepted !== 'refused') return turn;
  } catch (error) {
    turn[Symbol.dispose]();
    throw error;
  }
  turn[Symbol.dispose]();
  throw new ApiError(429, 'Too many messages wait in this session. Try again when they are answered.', {
    code: 'rate_limit_exceeded',
  });
}

/** Stops the turn that answers a message; `isWhole`: also everything else in its session. */
export async function stopTurn(
  { ref, isWhole = false }: { readonly ref: MessageRef; readonly isWhole?: boolean },
  app: App,
): Promise<void> {
  const draft = draftOf(ref, '/stop', app);
  const metadata = { [API_CHANNEL]: { stop: true, only: isWhole ? null : draft.externalId } };
  await app.bus.publishInbound({ ...draft, externalId: `${draft.externalId}:stop`, metadata });
}

function draftOf(ref: MessageRef, text: string, { clock }: App): InboundDraft {
  const sessionKey = sessionOf(ref);
  return {
    ...keyOf(ref),
    ...(sessionKey === undefined ? {} : { sessionKey }),
    chatType: 'direct',
    sender: { id: 'owner', name: 'owner', isBot: false },
    role: localRole('gateway-token'),
    text,
    media: [],
    mentioned: true,
    context: [],
    receivedAt: clock.now(),
    origin: 'api',
    untrusted: false,
    metadata: {},
  };
}

function givenOf({ role, content, untrusted }: StoredMessage): GivenMessage {
  return { role, content, ...(untrusted === undefined ? {} : { untrusted }) };
}

function mediaOf({ path, mediaType }: StoredMessage['images'][number], n: number): Media {
  return { kind: 'image', mediaType, path, name: `image ${n + 1}` };
}
