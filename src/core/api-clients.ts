/** For clients of servers that run elsewhere or beside the assistant: what they are given, and how they are reached. */
export type { EditorServer, EditorServerReport } from './bus/editor.ts';
export type { Media } from './bus/messages.ts';
export { execEnvironment } from './config/environment.ts';
export { collectSecrets } from './config/secrets.ts';
export { approvalHash } from './security/access/approval-hash.ts';
export { endLeftPrograms } from './security/enclosure/processes.ts';
export { createStreamingFetch } from './security/fetch/fetch.ts';
export type { StreamingFetch } from './security/fetch/fetch.ts';
export { withoutInvisible } from './security/text/invisible.ts';
export { backoffMs } from './util/backoff.ts';
export { OwnWordsError } from './util/errors.ts';
export { NotPermitted } from './util/permit.ts';
export { matchesName } from './util/text.ts';
