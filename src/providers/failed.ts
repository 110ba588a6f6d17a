import type { ModelErrorKind } from './provider.ts';

const WORDS: Readonly<Record<ModelErrorKind, string>> = {
  'rate-limit': 'allows no more requests for now',
  overloaded: 'is overloaded',
  timeout: 'was too slow',
  network: 'broke off',
  auth: 'refused the key',
  quota: 'has no credit left',
  'context-overflow': 'found the conversation too long',
  'request-too-large': 'found the request too large',
  'bad-request': 'did not accept the request',
  refusal: 'refused to answer',
  'unsupported-tool-choice': 'does not take this choice of tool',
  aborted: 'was stopped',
  malformed: 'sent an answer that makes no sense',
};

/** A few words for those who watch: who failed, and how. */
export function failed(name: string, kind: ModelErrorKind): string {
  return `${name} ${WORDS[kind]}`;
}
