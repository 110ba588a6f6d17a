import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type ConnectionOptions } from 'node:tls';
import { AppError, errorCode, errorMessage } from '../../core/util/errors.ts';
import type { StoreAddress } from '../../core/storage/store-address.ts';

const CANNOT_RUN = 78;

/** What the TLS of connections to PostgreSQL is made from, read again for each, so that renewed files need no restart. */
export class TlsFiles {
  readonly #address: StoreAddress;
  #last: ConnectionOptions;

  /** Throws `store-tls` when a file cannot be read or used. */
  constructor(address: StoreAddress) {
    this.#address = address;
    this.#last = read(address);
  }

  /** For a connection that begins now. What cannot be used, because it is just being replaced, is as it was last. */
  now(): ConnectionOptions {
    try {
      this.#last = read(this.#address);
    } catch {
      // The connection fails with a sentence of its own when what is left no longer fits.
    }
    return { ...this.#last };
  }
}

function read({ tls, rootCert, cert, key, keyPassword }: StoreAddress): ConnectionOptions {
  const options: ConnectionOptions = { rejectUnauthorized: tls === 'verified' };
  if (rootCert !== null) options.ca = certificate('sslrootcert', rootCert);
  if (cert === null || key === null) return options;
  const own = {
    cert: certificate('sslcert', cert),
    key: contents('sslkey', key),
    ...(keyPassword === null ? {} : { passphrase: keyPassword }),
  };
  usable('sslcert and sslkey', `${cert} and ${key}`, () => createSecureContext(own));
  return { ...options, ...own };
}

function certificate(name: string, path: string): string {
  const text = contents(name, path);
  usable(name, path, () => new X509Certificate(text));
  return text;
}

function contents(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = errorCode(error) === 'ENOENT' ? 'there is no such file' : errorMessage(error);
    throw wrong(
      `${path}, which the address in store names as ${name}, cannot be read: ${why}. Put the file there, or change the address.`,
    );
  }
}

function usable(names: string, path: string, use: () => unknown): void {
  try {
    use();
  } catch (error) {
    throw wrong(
      `What the address in store names as ${names} (${path}) cannot be used: ${errorMessage(error)}. PEM files are expected, and a key that belongs to the certificate.`,
    );
  }
}

function wrong(sentence: string): AppError {
  return new AppError('store-tls', sentence, { exitCode: CANNOT_RUN });
}
