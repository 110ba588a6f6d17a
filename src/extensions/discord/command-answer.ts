import { type OutgoingPart, SendError } from '../../core/api-channels.ts';
import { EPHEMERAL, type DiscordApi, type SentMessage } from './api.ts';
import { callFailure, isRefused } from './errors.ts';
import type { Listener } from './listener.ts';
import { bodyOf, filesOf } from './send.ts';
import type { Deferrals } from './slash-commands.ts';

interface CommandPlaces {
  readonly api: Pick<DiscordApi, 'fill' | 'follow'>;
  readonly listener: Pick<Listener, 'application'>;
  readonly deferrals: Deferrals;
}

/**
 * Puts a message into the place of the command from the menu that waits for it; undefined: none does. Throws a permanent
 * `SendError` for one that only one person may see and that has no place any more.
 */
export async function fill(
  { api, listener, deferrals }: CommandPlaces,
  part: OutgoingPart,
  signal: AbortSignal,
): Promise<SentMessage | undefined> {
  const isPrivate = part.onlyTo !== undefined;
  const waits = await deferrals.waiting(part);
  if (waits === undefined && isPrivate) throw tooLate();
  if (waits === undefined) return undefined;
  const { token, isFilled } = waits;
  try {
    const files = await filesOf(part.media);
    const body = bodyOf(part);
    const sent = isFilled
      ? await api.follow(
          listener.application,
          token,
          { ...body, flags: Number(body['flags']) | EPHEMERAL },
          files,
          signal,
        )
      : await api.fill(listener.application, token, body, files, signal);
    deferrals.filled(part, token);
    return sent;
  } catch (error) {
    // The token is over: what is to be said is a message like others.
    if (!isRefused(error) && callFailure(error).status !== 401) throw error;
    deferrals.over(part, token);
    if (isPrivate) throw tooLate();
    return undefined;
  }
}

function tooLate(): SendError {
  return new SendError(
    'permanent',
    'Discord shows an answer to one person alone only for 15 minutes after the question',
  );
}
