import { createHash, generateKeyPairSync, sign } from 'node:crypto';

/** A key and a certificate of its own for it, which no one has signed. */
export interface OwnCertificate {
  /** PEM. */
  readonly key: string;
  /** PEM. */
  readonly cert: string;
  /** SHA-256 of its public key in base64, as browsers name the keys that they are to accept. */
  readonly keyHash: string;
}

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const IDENTIFIER = 0x06;
const TEXT = 0x0c;
const UTC_TIME = 0x17;
const EXPLICIT_0 = 0xa0;

/** OIDs, encoded: ecdsa-with-SHA256 (RFC 5758) and the common name of a subject (RFC 5280). */
const ECDSA_SHA256 = Buffer.from('2a8648ce3d040302', 'hex');
const COMMON_NAME = Buffer.from('550403', 'hex');

/**
 * Makes a certificate for a connection whose both ends are ours. It proves nothing to anybody else: who is to accept it
 * has to be told its key. It names no host and does not end within the life of a process.
 */
export function ownCertificate(name: string): OwnCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicBytes = publicKey.export({ type: 'spki', format: 'der' });
  const algorithm = der(SEQUENCE, der(IDENTIFIER, ECDSA_SHA256));
  const subject = der(SEQUENCE, der(SET, der(SEQUENCE, der(IDENTIFIER, COMMON_NAME), der(TEXT, Buffer.from(name)))));
  const validity = der(SEQUENCE, time('200101000000Z'), time('491231235959Z'));
  const body = der(
    SEQUENCE,
    der(EXPLICIT_0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.from([1])),
    algorithm,
    subject,
    validity,
    subject,
    publicBytes,
  );
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]);
  const whole = der(SEQUENCE, body, algorithm, der(BIT_STRING, signature));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
    keyHash: createHash('sha256').update(publicBytes).digest('base64'),
  };
}

function time(text: string): Buffer {
  return der(UTC_TIME, Buffer.from(text));
}

/** One value of DER, X.690. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
