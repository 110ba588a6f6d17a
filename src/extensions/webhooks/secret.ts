import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** What a caller shows of the secret. */
export interface Shown {
  /** `Authorization` */
  readonly authorization: string | undefined;
  /** `X-Hub-Signature-256`: `sha256=` and the HMAC of the body in hex. */
  readonly signature: string | undefined;
  readonly body: Uint8Array;
}

/** Whether a caller knows the secret, by itself or by the body that it signed. Takes the same time for any wrong one. */
export function knowsSecret(secret: string, { authorization, signature, body }: Shown): boolean {
  if (signature !== undefined) {
    return isSame(signature.toLowerCase(), `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  }
  const bearer = /^Bearer +(?<token>\S+)$/iu.exec(authorization ?? '')?.groups?.['token'];
  return isSame(bearer ?? '', secret);
}

function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
