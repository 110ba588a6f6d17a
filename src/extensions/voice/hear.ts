import type { App } from '../../core/api.ts';
import type { SpeechPart, Transcribe } from '../../core/api-vendors.ts';
import { hasServer, hearingServer, lastOpened } from './servers.ts';

/** What turns speech into text as the configuration says now; the log says why nothing does where it was wanted. */
export const transcriber: SpeechPart['transcriber'] = (app) => {
  const server = hearingServer(app);
  app.once(complaining)(typeof server === 'string' ? server : null);
  if (!hasServer(server)) return null;
  return async (path, signal) => {
    const transcribe = await app.once(hearing)(server, { name: 'voice', clock: app.clock });
    return await transcribe(path, signal);
  };
};

const hearing = () => lastOpened<Transcribe>();

/** Logs a complaint when it is a new one. */
function complaining({ log }: App): (complaint: string | null) => void {
  let last: string | null = null;
  return (complaint) => {
    if (complaint !== null && complaint !== last) log.warn(complaint);
    last = complaint;
  };
}
