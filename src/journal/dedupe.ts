import { createHash } from 'node:crypto';

/** 16 bytes that stand for a platform's name of a message when its row is gone. */
export function dedupeKey(channel: string, account: string, chat: string, externalId: string): Uint8Array {
  const name = JSON.stringify([channel, account, chat, externalId]);
  return createHash('sha256').update(name).digest().subarray(0, 16);
}
