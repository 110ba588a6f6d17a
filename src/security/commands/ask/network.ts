import { posix } from 'node:path';
import { DECODED } from '../marks.ts';
import { INTERPRETERS, type Simple } from '../rules.ts';
import type { Scope } from '../scope.ts';
import { outside, type Concern } from './concern.ts';
import { authorityOf, closedHost, FIRST_ADDRESS, type NamedHost, type Naming } from './hosts.ts';

/** Clients whose operands are hosts or URLs. */
const CLIENTS = new Set(
  'curl wget wget2 http https httpie xh curlie aria2c axel yt-dlp youtube-dl lynx links links2 elinks w3m lwp-request telnet ftp lftp tftp nc ncat netcat nmap masscan nikto gobuster ffuf sqlmap ab wrk hey siege websocat wscat grpcurl psql mysql mysqldump mariadb redis-cli mongosh mongo ldapsearch smbclient swaks mosquitto_pub mosquitto_sub chromium google-chrome firefox'.split(
    ' ',
  ),
);
/** Programs that take a URL among many other things. */
const URL_TAKERS = new Set(
  'git gh glab svn hg npm pnpm yarn bun npx bunx pip pip3 pipx uv uvx poetry cargo gem go brew apt apt-get docker podman kubectl helm aws gcloud az s3cmd rclone restic playwright'.split(
    ' ',
  ),
);
/** Clients with an operand `host`, and the letters of their options that take the next word. */
const LOGINS: Readonly<Record<string, string>> = {
  ssh: 'bcDEeFIiJLlmOoPpRSWw',
  autossh: 'bcDEeFIiJLlMmOoPpRSWw',
  mosh: '',
  sftp: 'BbcDFiJloPRSs',
  'ssh-copy-id': 'iop',
  'ssh-keyscan': 'fpTt',
  sshfs: 'opF',
};
const COPIERS = new Set(['scp', 'rsync', 'sshfs']);
const GIT_REMOTES = new Set(['clone', 'fetch', 'pull', 'push', 'ls-remote', 'remote', 'submodule', 'archive']);

/** Options whose next word is data and no target. */
const DATA_OPTIONS: Readonly<Record<string, RegExp>> = {
  curl: /^(?:-[a-wyzA-Z]*[AbcCdDeEFHKmoPQrtTuUwXyYz]|--(?:data|header|user|form|json|output|request|cookie|referer|write-out|upload-file|max-|retry|connect-timeout|limit-rate|url-query|cert|key|cacert|range|oauth)[\w-]*)$/u,
  wget: /^(?:-[a-zA-Z]*[aoOPDAIRXUQTtwleB]|--(?:output|header|user|password|post|body|directory|tries|timeout|wait|quota|accept|reject|level|limit)[\w-]*)$/u,
};
const PROXIES = ['http_proxy', 'https_proxy', 'all_proxy', 'ftp_proxy', 'DOCKER_HOST', 'GIT_PROXY_COMMAND'];
const SCP_PLACE = /^(?:[^/\s@:]+@)?(\[[^\]]+\]|[^/\s@:]+):/u;
const SOCKET_OPTIONS = /^--(?:abstract-)?unix-socket(?:=.*)?$/u;

/** Of one program; what names more is not judged further. */
const MOST_HOSTS = 1_000;

/** Hosts that a program is told to talk to and that nobody in the public network could be meant by. */
export function networkConcerns(simple: Simple, code: string, scope: Scope): Concern[] {
  const { opened } = scope.shared.place;
  const named = [...namedHosts(simple, code, scope), ...proxies(simple.name, scope)].slice(0, MOST_HOSTS);
  const closed = named.map((host) => closedHost(host, opened)).filter((what) => what !== undefined);
  return [
    ...[...new Set(closed)].map((what): Concern => ({ reason: `it names ${what}`, needs: 'network' })),
    ...socketConcerns(simple),
  ];
}

/** The host of bash's `/dev/tcp/HOST/PORT`. */
export function deviceHost(path: string): NamedHost | undefined {
  const host = /^\/dev\/(?:tcp|udp)\/([^/]+)\//u.exec(posix.normalize(path))?.[1];
  return host === undefined ? undefined : { authority: host, naming: 'url' };
}

function namedHosts({ name, args }: Simple, code: string, scope: Scope): readonly NamedHost[] {
  if (name in LOGINS) return loginHosts(name, args);
  if (COPIERS.has(name)) return args.flatMap((arg) => [...inUrl(arg), ...inScpPlace(arg)]);
  if (name === 'git') return gitHosts(args);
  if (name === 'socat') return args.flatMap(socatHosts);
  if (name === 'openssl' && args[0] === 's_client') return inWords(args.slice(1), undefined);
  if (CLIENTS.has(name)) return [...clientHosts(name, args), ...listedHosts(args, scope)];
  if (URL_TAKERS.has(name)) return args.flatMap(inUrl);
  if (/^[gmn]?awk$/u.test(name)) return args.flatMap(awkHosts);
  if (!INTERPRETERS.test(name)) return [];
  return [...codeHosts(code), ...args.flatMap(inUrl)];
}

function clientHosts(name: string, args: readonly string[]): readonly NamedHost[] {
  const listens = /^(?:nc|ncat|netcat)$/u.test(name) && args.some((arg) => /^-[a-zA-Z]*l|^--listen$/u.test(arg));
  if (listens) return [];
  const first = args.find((arg) => !arg.startsWith('-')) ?? '';
  const zero = /^0(?::|\/|$)/u.test(first) ? [host(first.split('/')[0] ?? '', 'url')] : [];
  const metadata = /^metadata(?:[:/]|$)/u.test(first) ? [host('metadata', 'url')] : [];
  return [
    ...zero,
    ...metadata,
    ...inWords(args, DATA_OPTIONS[name]),
    ...args.flatMap(pinnedHosts),
    ...args.flatMap(proxyHosts),
  ];
}

/** Every argument that is a URL or an address, but for the data of `options`. */
function inWords(args: readonly string[], options: RegExp | undefined): readonly NamedHost[] {
  return args.flatMap((arg, i) => {
    const before = args[i - 1] ?? '';
    if (options?.test(before) === true) return [];
    const isAmount = /^\d+(?:\.\d+)?$/u.test(arg) && Number(arg) < FIRST_ADDRESS;
    if (isAmount && before.startsWith(options === undefined ? '-' : '--')) return [];
    const value =
      /^--?[\w-]+=(.*)$/su.exec(arg)?.[1] ??
      /^-[a-zA-Z]{1,8}?((?:\d|\[|localhost|[a-z]{2,8}:\/\/).*)$/su.exec(arg)?.[1] ??
      arg;
    const url = inUrl(value);
    if (url.length > 0 || value.startsWith('-')) return url;
    const authority = value.split(/[/?#]/u)[0] ?? '';
    return [host(firstOf(authority), 'word')];
  });
}

/** curl's `--resolve name:port:address` and `--connect-to name:port:name:port`. */
function pinnedHosts(arg: string): readonly NamedHost[] {
  const pinned = /^(?:--resolve=|--connect-to=)?[^:/\s]*:\d*:(\[[^\]]+\]|[^:/\s]+)(?::\d*)?$/u.exec(arg)?.[1];
  return pinned === undefined ? [] : pinned.split(',').map((one) => host(one, 'word'));
}

/** Settings or a list of URLs on standard input: `curl -K -`, `wget -i -`. */
function listedHosts(args: readonly string[], { stdin }: Scope): readonly NamedHost[] {
  const reads = args.some(
    (arg, i) => /^-[a-zA-Z]*[Ki]-?$|^--(?:config|input-file)$/u.test(arg) && `${arg}${args[i + 1]}`.includes('-', 1),
  );
  return reads ? urlsIn(stdin.text ?? '') : [];
}

/** wget's `-e http_proxy=…`. */
function proxyHosts(arg: string): readonly NamedHost[] {
  const proxy = /^(?:https?|all|ftp)_proxy=(.+)$/iu.exec(arg)?.[1];
  return proxy === undefined ? [] : [host(authorityOf(proxy) ?? proxy, 'word')];
}

function loginHosts(name: string, args: readonly string[]): readonly NamedHost[] {
  const valued = LOGINS[name] ?? '';
  const found: NamedHost[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] ?? '';
    if (!arg.startsWith('-')) {
      found.push(...inUrl(arg), host(SCP_PLACE.exec(arg)?.[1] ?? arg, 'alias'));
      if (name !== 'ssh-keyscan') break;
      continue;
    }
    const option = /^-[a-zA-Z]*?([a-zA-Z])(.*)$/u.exec(arg);
    const takesNext = arg.length === 2 && valued.includes(arg[1] ?? '');
    const value = takesNext ? (args[(i += 1)] ?? '') : (option?.[2] ?? '');
    if (arg.startsWith('-J')) found.push(...value.split(',').map((one) => host(one, 'alias')));
    const pointed = /^(?:HostName|ProxyJump)[= ](.+)$/iu.exec(
      arg.startsWith('-o') && !takesNext ? arg.slice(2) : value,
    );
    if (pointed !== null) found.push(host(pointed[1] ?? '', 'alias'));
  }
  return found;
}

function gitHosts(args: readonly string[]): readonly NamedHost[] {
  const at = args.findIndex((arg, i) => !arg.startsWith('-') && !/^-[cC]$/u.test(args[i - 1] ?? ''));
  const settings = args.slice(0, Math.max(at, 0)).flatMap((arg) => inUrl(arg.slice(arg.indexOf('=') + 1)));
  if (!GIT_REMOTES.has(args[at] ?? '')) return settings;
  return [...settings, ...args.slice(at + 1).flatMap((arg) => [...inUrl(arg), ...inScpPlace(arg)])];
}

function socatHosts(arg: string): readonly NamedHost[] {
  const found =
    /^(?:tcp|udp|sctp|openssl|ssl|proxy|socks)\w*(?:-(?:connect|sendto|datagram))?:(\[[^\]]+\]|[^:,]+)/iu.exec(arg);
  return found === null || /listen/iu.test(arg) ? [] : [host(found[1] ?? '', 'url')];
}

function awkHosts(arg: string): readonly NamedHost[] {
  return Array.from(arg.matchAll(/\/inet[46]?\/(?:tcp|udp)\/[^/]*\/([^/"]+)\//gu), ([, name = '']) =>
    host(name, 'url'),
  );
}

const TALKS =
  /\b(?:urllib\w*|urlopen|requests|httpx|aiohttp|http\.client|HTTPS?Connection|socket|Socket|create_connection|createConnection|fetch|axios|XMLHttpRequest|WebSocket|undici|net\.connect|https?\.(?:get|request)|TCPSocket|UDPSocket|open-uri|Net::HTTP|LWP|IO::Socket|HTTP::Tiny|fsockopen|file_get_contents|curl_init|stream_socket_client|paramiko|smtplib|ftplib|telnetlib)\b/u;

/** Hosts in the code of another language, when it talks to any. */
function codeHosts(code: string): readonly NamedHost[] {
  if (!TALKS.test(code)) return [];
  const words = Array.from(code.matchAll(/(["'`])([^"'`\s\\]{1,253})\1/gu), ([, , word = '']) => host(word, 'word'));
  return [...urlsIn(code), ...words];
}

function urlsIn(text: string): readonly NamedHost[] {
  return Array.from(text.matchAll(/\b[a-z][a-z0-9+.-]{1,12}:\/\/([^/?#\s'"`)<>\\]+)/giu), ([, at = '']) =>
    host(at, 'url'),
  );
}

function proxies(name: string, { variables }: Scope): readonly NamedHost[] {
  if (!CLIENTS.has(name) && !URL_TAKERS.has(name)) return [];
  return PROXIES.flatMap((key) => [...(variables.get(key) ?? []), ...(variables.get(key.toUpperCase()) ?? [])]).flatMap(
    (value) => (value === '' ? [] : [host(authorityOf(value) ?? value, 'word')]),
  );
}

/** Services of this machine are also behind sockets that are files. */
function socketConcerns({ name, args }: Simple): readonly Concern[] {
  const opens =
    (name === 'curl' && args.some((arg) => SOCKET_OPTIONS.test(arg))) ||
    (/^(?:nc|ncat|netcat)$/u.test(name) && args.some((arg) => /^-[a-zA-Z]*U|^--unixsock$/u.test(arg))) ||
    (name === 'socat' && args.some((arg) => /^(?:unix|abstract)(?:-(?:connect|client|sendto))?:/iu.test(arg)));
  return opens ? [outside('it talks to a service of this machine through its socket')] : [];
}

function inUrl(text: string): readonly NamedHost[] {
  const [, decoded = '', bare = ''] = URL_TEXT.exec(text) ?? [];
  const authority = authorityOf(bare) ?? authorityOf(bare.slice(bare.indexOf('=') + 1));
  if (authority === undefined) return [];
  // With an empty name before it the host may be a folder.
  return [host(decoded + firstOf(authority), /:[/\\]{3}/u.test(bare) ? 'word' : 'url')];
}

/** Of an authority. */
const LONGEST = 300;
const URL_TEXT = new RegExp(`^(${DECODED}?)([^]*)$`, 'u');

/** curl puts several addresses together itself: `10.0.0.[1-9]`, `{a,b}.example.com`. */
function firstOf(authority: string): string {
  return authority.slice(0, LONGEST).replaceAll(/\{([^,{}]*)[^{}]*\}|\[([0-9a-z]+)-[0-9a-z]+(?::\d+)?\]/gu, '$1$2');
}

function inScpPlace(text: string): readonly NamedHost[] {
  if (authorityOf(text) !== undefined || text.startsWith('-')) return [];
  const place = SCP_PLACE.exec(text)?.[1];
  return place === undefined ? [] : [host(place, 'alias')];
}

function host(authority: string, naming: Naming): NamedHost {
  return { authority, naming };
}
