import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A certificate and its key: the PEM texts and where they lie. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
  readonly certPath: string;
  readonly keyPath: string;
}

export interface CertificateOptions {
  /** As openssl has it, e.g. `DNS:db.example.org,IP:127.0.0.1`. */
  readonly names?: string;
  readonly subject?: string;
  /** Whether it ended yesterday. */
  readonly isExpired?: boolean;
}

/** A certificate authority in a folder, made by openssl. */
export class Authority {
  readonly #folder: string;
  readonly path: string;
  readonly cert: string;
  #made = 0;

  private constructor(folder: string, path: string, cert: string) {
    this.#folder = folder;
    this.path = path;
    this.cert = cert;
  }

  static async make(folder: string): Promise<Authority> {
    await mkdir(folder, { recursive: true });
    await openssl(
      folder,
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=ca -keyout ca.key -out ca.pem',
    );
    const path = join(folder, 'ca.pem');
    return new Authority(folder, path, await readFile(path, 'utf8'));
  }

  async certify({
    names = 'DNS:localhost',
    subject = '/CN=server',
    isExpired = false,
  }: CertificateOptions = {}): Promise<Certified> {
    this.#made += 1;
    const name = `c${this.#made}`;
    const place = (end: string): string => join(this.#folder, `${name}.${end}`);
    await writeFile(place('ext'), `subjectAltName=${names}\n`);
    await openssl(
      this.#folder,
      `req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj ${subject} -keyout ${name}.key -out ${name}.csr`,
    );
    // One of minus one day ended a day before it began.
    await openssl(
      this.#folder,
      `x509 -req -in ${name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days ${isExpired ? -1 : 30} -extfile ${name}.ext -out ${name}.pem`,
    );
    const [cert, key] = await Promise.all([readFile(place('pem'), 'utf8'), readFile(place('key'), 'utf8')]);
    return { cert, key, certPath: place('pem'), keyPath: place('key') };
  }
}

async function openssl(folder: string, line: string): Promise<void> {
  await run('openssl', line.split(' '), { cwd: folder });
}
