import { isInterpreter } from './code.ts';
import { authorityOf, FIRST_ADDRESS, noteHosts, type NamedHost } from './hosts.ts';
import { DECODED } from './placeholders.ts';
import { noteRisk, type Scope, type Simple } from './scope.ts';

/** Clients whose operands are hosts or URLs. */
const CLIENTS =
  /^(?:curl|wget|wget2|http|https|httpie|xh|curlie|aria2c|axel|yt-dlp|youtube-dl|lynx|links|links2|elinks|w3m|lwp-request|telnet|ftp|lftp|tftp|nc|ncat|netcat|nmap|masscan|nikto|gobuster|ffuf|sqlmap|ab|wrk|hey|siege|websocat|wscat|grpcurl|psql|mysql|mysqldump|mariadb|redis-cli|mongosh|mongo|ldapsearch|smbclient|swaks|mosquitto_pub|mosquitto_sub|chromium|google-chrome|firefox)$/u;
/** Programs that take a URL among many other things. */
const URL_TAKERS =
  /^(?:git|gh|glab|svn|hg|npm|pnpm|yarn|bun|npx|bunx|pip|pip3|pipx|uv|uvx|poetry|cargo|gem|go|brew|apt|apt-get|docker|podman|kubectl|helm|aws|gcloud|az|s3cmd|rclone|restic|playwright)$/u;
/** Clients with an operand `host`, and the letters of their options that take the next word. */
const LOGINS = /^(?:ssh|autossh|mosh|sftp|ssh-copy-id|ssh-keyscan|sshfs)$/u;
const VALUED = /^-[BbcDEeFfIiJLlMmOoPpRSWw]$/u;
const GIT_REMOTES = /^(?:clone|fetch|pull|push|ls-remote|remote|submodule|archive)$/;

/** Options whose next word is data and no target. */
const DATA_OPTIONS: Readonly<Record<string, RegExp>> = {
  curl: /^(?:-[a-wyzA-Z]*[AbcCdDeEFHKmoPQrtTuUwXyYz]|--(?:data|header|user|form|json|output|request|cookie|referer|write-out|upload-file|max-|retry|connect-timeout|limit-rate|url-query|cert|key|cacert|range|oauth)[\w-]*)$/u,
  wget: /^(?:-[a-zA-Z]*[aoOPDAIRXUQTtwleB]|--(?:output|header|user|password|post|body|directory|tries|timeout|wait|quota|accept|reject|level|limit)[\w-]*)$/u,
};
const PROXIES = 'http_proxy https_proxy all_proxy ftp_proxy DOCKER_HOST GIT_PROXY_COMMAND'
  .split(' ')
  .flatMap((name) => [name, name.toUpperCase()]);
const SCP_PLACE = /^(?:[^/\s@:]+@)?(\[[^\]]+\]|[^/\s@:]+):/u;
const NETCAT = /^(?:nc|ncat|netcat)$/u;

/** Keeps the hosts that a program is told to talk to, and the sockets behind which are services of this machine. */
export function networkRisks(simple: Simple, code: string, scope: Scope): void {
  noteHosts([...namedHosts(simple, code, scope), ...proxies(simple.name, scope)], scope);
  const { name, args } = simple;
  const socket = SOCKETS.find(([programs]) => programs.test(name))?.[1];
  if (socket !== undefined && args.some((arg) => socket.test(arg)))
    noteRisk(scope, 'outside', 'it talks to a service of this machine through its socket');
}

const SOCKETS: readonly (readonly [programs: RegExp, options: RegExp])[] = [
  [/^curl$/u, /^--(?:abstract-)?unix-socket(?:=.*)?$/u],
  [NETCAT, /^-[a-zA-Z]*U|^--unixsock$/u],
  [/^socat$/u, /^(?:unix|abstract)(?:-(?:connect|client|sendto))?:/iu],
];

function namedHosts({ name, args }: Simple, code: string, scope: Scope): readonly NamedHost[] {
  if (LOGINS.test(name)) return loginHosts(name, args);
  if (name === 'git' && !args.some((arg) => GIT_REMOTES.test(arg))) return [];
  if (/^(?:scp|rsync|git)$/u.test(name)) return args.flatMap((arg) => [...inUrl(arg), ...inScpPlace(arg)]);
  if (name === 'socat') return args.flatMap((arg) => matches(arg, SOCAT));
  if (name === 'openssl' && args[0] === 's_client') return inWords(args.slice(1), undefined);
  if (CLIENTS.test(name)) return clientHosts(name, args, scope);
  if (URL_TAKERS.test(name)) return args.flatMap(inUrl);
  if (/^[gmn]?awk$/u.test(name)) return args.flatMap((arg) => matches(arg, AWK));
  return isInterpreter(name) ? [...codeHosts(code), ...args.flatMap(inUrl)] : [];
}

const SOCAT =
  /^(?!.*listen)(?:tcp|udp|sctp|openssl|ssl|proxy|socks)\w*(?:-(?:connect|sendto|datagram))?:(\[[^\]]+\]|[^:,]+)/giu;
const AWK = /\/inet[46]?\/(?:tcp|udp)\/[^/]*\/([^/"]+)\//gu;
const URLS = /\b[a-z][a-z0-9+.-]{1,12}:\/\/([^/?#\s'"`)<>\\]+)/giu;
/** This machine and the metadata service, as a first operand. */
const SHORT = /^(0|metadata)(?=[:/]|$)/gu;

function matches(text: string, pattern: RegExp): readonly NamedHost[] {
  return Array.from(text.matchAll(pattern), ([, authority = '']) => host(authority, 'url'));
}

function clientHosts(name: string, args: readonly string[], { stdin }: Scope): readonly NamedHost[] {
  if (NETCAT.test(name) && args.some((arg) => /^-[a-zA-Z]*l|^--listen$/u.test(arg))) return [];
  // Settings or a list of URLs on standard input: `curl -K -`, `wget -i -`.
  const lists = args.some(
    (arg, i) => /^-[a-zA-Z]*[Ki]-?$|^--(?:config|input-file)$/u.test(arg) && `${arg}${args[i + 1]}`.includes('-', 1),
  );
  return [
    ...matches(args.find((arg) => !arg.startsWith('-')) ?? '', SHORT),
    ...inWords(args, DATA_OPTIONS[name]),
    ...args.flatMap(pinnedHosts),
    ...args.flatMap((arg) => inProxy(/^(?:https?|all|ftp)_proxy=(.+)$/iu.exec(arg)?.[1])),
    ...(lists ? matches(stdin, URLS) : []),
  ];
}

/** Every argument that is a URL or an address, but for the data of `options`. */
function inWords(args: readonly string[], options: RegExp | undefined): readonly NamedHost[] {
  return args.flatMap((arg, i) => {
    const before = args[i - 1] ?? '';
    if (options?.test(before) === true) return [];
    const isAmount = Number(arg) < FIRST_ADDRESS;
    if (isAmount && before.startsWith(options === undefined ? '-' : '--')) return [];
    const value =
      /^--?[\w-]+=(.*)$/su.exec(arg)?.[1] ??
      /^-[a-zA-Z]{1,8}?((?:\d|\[|localhost|[a-z]{2,8}:\/\/).*)$/su.exec(arg)?.[1] ??
      arg;
    const url = inUrl(value);
    if (url.length > 0 || value.startsWith('-')) return url;
    return [host(firstOf(value.split(/[/?#]/u)[0] ?? ''), 'word')];
  });
}

/** curl's `--resolve name:port:address` and `--connect-to name:port:name:port`. */
function pinnedHosts(arg: string): readonly NamedHost[] {
  const pinned = /^(?:--resolve=|--connect-to=)?[^:/\s]*:\d*:(\[[^\]]+\]|[^:/\s]+)(?::\d*)?$/u.exec(arg)?.[1];
  return pinned === undefined ? [] : pinned.split(',').map((one) => host(one, 'word'));
}

function inProxy(value = ''): readonly NamedHost[] {
  return value === '' ? [] : [host(authorityOf(value) ?? value, 'word')];
}

function proxies(name: string, { variables }: Scope): readonly NamedHost[] {
  if (!CLIENTS.test(name) && !URL_TAKERS.test(name)) return [];
  return PROXIES.flatMap((key) => variables.get(key) ?? []).flatMap(inProxy);
}

function loginHosts(name: string, args: readonly string[]): readonly NamedHost[] {
  const found: NamedHost[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] ?? '';
    if (!arg.startsWith('-')) {
      found.push(...inUrl(arg), host(SCP_PLACE.exec(arg)?.[1] ?? arg, 'alias'));
      if (name !== 'ssh-keyscan') break;
      continue;
    }
    const takesNext = VALUED.test(arg);
    const value = takesNext ? (args[(i += 1)] ?? '') : arg.slice(2);
    if (arg.startsWith('-J')) found.push(...value.split(',').map((one) => host(one, 'alias')));
    const pointed = /^(?:HostName|ProxyJump)[= ](.+)$/iu.exec(value)?.[1];
    if (pointed !== undefined) found.push(host(pointed, 'alias'));
  }
  return found;
}

const TALKS =
  /\b(?:urllib\w*|urlopen|requests|httpx|aiohttp|http\.client|HTTPS?Connection|socket|Socket|create_connection|createConnection|fetch|axios|XMLHttpRequest|WebSocket|undici|net\.connect|https?\.(?:get|request)|TCPSocket|UDPSocket|open-uri|Net::HTTP|LWP|IO::Socket|HTTP::Tiny|fsockopen|file_get_contents|curl_init|stream_socket_client|paramiko|smtplib|ftplib|telnetlib)\b/u;

/** Hosts in the code of another language, when it talks to any. */
function codeHosts(code: string): readonly NamedHost[] {
  if (!TALKS.test(code)) return [];
  const words = Array.from(code.matchAll(/(["'`])([^"'`\s\\]{1,253})\1/gu), ([, , word = '']) => host(word, 'word'));
  return [...matches(code, URLS), ...words];
}

/** Of an authority. */
const LONGEST = 300;
const URL_TEXT = new RegExp(`^(${DECODED}?)([^]*)$`, 'u');

function inUrl(text: string): readonly NamedHost[] {
  const [, decoded = '', bare = ''] = URL_TEXT.exec(text) ?? [];
  const authority = authorityOf(bare) ?? authorityOf(bare.slice(bare.indexOf('=') + 1));
  if (authority === undefined) return [];
  // With an empty name before it the host may be a folder.
  return [host(decoded + firstOf(authority), /:[/\\]{3}/u.test(bare) ? 'word' : 'url')];
}

/** curl puts several addresses together itself: `10.0.0.[1-9]`, `{a,b}.example.com`. */
function firstOf(authority: string): string {
  return authority.slice(0, LONGEST).replaceAll(/\{([^,{}]*)[^{}]*\}|\[([0-9a-z]+)-[0-9a-z]+(?::\d+)?\]/gu, '$1$2');
}

function inScpPlace(text: string): readonly NamedHost[] {
  const place = SCP_PLACE.exec(text)?.[1];
  return place === undefined ? [] : [host(place, 'alias')];
}

function host(authority: string, naming: NamedHost['naming']): NamedHost {
  return { authority, naming };
}
