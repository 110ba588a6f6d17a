import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { startServer } from './http.ts';
import { pack } from './packages.ts';
import { tempFolder } from './temp.ts';

/** A package as its author writes it. */
export interface PublishedPackage {
  readonly name: string;
  /** @default 1.0.0 */
  readonly version?: string;
  /** Further fields of its package.json. */
  readonly facts?: Readonly<Record<string, unknown>>;
  /** Text of its files by their names. */
  readonly files: Readonly<Record<string, string>>;
}

export type RegistryFault =
  /** The bytes of tarballs are others than those that the hash was made of. */
  | 'tarball'
  /** Nothing is ever answered. */
  | 'silent'
  /** Tarballs come a byte at a time, without an end. */
  | 'slow';

export interface NpmRegistry extends AsyncDisposable {
  readonly url: string;
  /** Paths that were asked for. */
  readonly asked: readonly string[];
  fault: RegistryFault | null;
  publish(published: PublishedPackage): Promise<void>;
}

interface Version {
  readonly facts: Readonly<Record<string, unknown>> & { readonly version: string };
  readonly tarball: Buffer;
}

/** A registry as npm speaks to it: the facts of a package at its name, and the tarballs that they point to. */
export async function startNpmRegistry(...first: readonly PublishedPackage[]): Promise<NpmRegistry> {
  await using stack = new AsyncDisposableStack();
  const temp = stack.use(await tempFolder());
  const versions = new Map<string, Version[]>();
  const asked: string[] = [];
  const state: { fault: RegistryFault | null } = { fault: null };
  const server = stack.use(
    await startServer(async (request, response) => {
      const path = decodeURIComponent(request.url ?? '');
      asked.push(path);
      if (state.fault === 'silent') return;
      const [, name = '', file] = /^\/((?:@[^/]+\/)?[^/]+)(?:\/-\/(.+))?$/u.exec(path) ?? [];
      const known = versions.get(name);
      const one = known?.find(({ facts }) => file === `${facts.version}.tgz`);
      if (known === undefined || (file !== undefined && one === undefined)) {
        response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}');
      } else if (one === undefined) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(factsOf(name, known, server.url)));
      } else if (state.fault === 'slow') {
        response.writeHead(200, { 'content-type': 'application/octet-stream' });
        const drip = setInterval(() => response.write(one.tarball.subarray(0, 1)), 50);
        response.once('close', () => clearInterval(drip));
      } else {
        const bytes = state.fault === 'tarball' ? Buffer.concat([one.tarball, Buffer.from('more')]) : one.tarball;
        response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes);
      }
    }),
  );
  const publish = async ({ name, version = '1.0.0', facts = {}, files }: PublishedPackage): Promise<void> => {
    const folder = join(temp.path, `${basename(name)}-${version}`);
    await mkdir(folder, { recursive: true });
    const all = { name, version, type: 'module', ...facts };
    await writeFile(join(folder, 'package.json'), JSON.stringify(all));
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
    const tarball = await readFile(await pack(folder));
    versions.set(name, [...(versions.get(name) ?? []), { facts: all, tarball }]);
  };
  for (const published of first) await publish(published);
  const owned = stack.move();
  return {
    url: server.url,
    asked,
    get fault() {
      return state.fault;
    },
    set fault(fault) {
      state.fault = fault;
    },
    publish,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function factsOf(name: string, versions: readonly Version[], url: string): object {
  const shown = versions.map(({ facts, tarball }) => {
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    const dist = { tarball: `${url}/${name}/-/${facts.version}.tgz`, integrity };
    const hasInstallScript = facts['scripts'] !== undefined;
    return [facts.version, { ...facts, hasInstallScript, dist }] as const;
  });
  return { name, 'dist-tags': { latest: versions.at(-1)?.facts.version }, versions: Object.fromEntries(shown) };
}
