import { canonicalAddress, judgeAddress } from '../fetch/addresses.ts';
import type { HostPort } from '../fetch/host-list.ts';
import { judgeName } from '../fetch/host-names.ts';
import { UNKNOWN, type Invocation } from './words.ts';

/** Clients whose operands are hosts or URLs. */
const CLIENTS =
  /^(?:curl|wget|wget2|http|https|httpie|xh|curlie|aria2c|axel|yt-dlp|youtube-dl|lynx|links|links2|elinks|w3m|lwp-request|telnet|ftp|lftp|tftp|nc|ncat|netcat|nmap|masscan|nikto|gobuster|ffuf|sqlmap|ab|wrk|hey|siege|websocat|wscat|grpcurl|psql|mysql|mysqldump|mariadb|redis-cli|mongosh|mongo|ldapsearch|smbclient|swaks|mosquitto_pub|mosquitto_sub|socat|chromium|google-chrome|firefox|openssl)$/u;
/** Programs that take a URL among many other things. */
const URL_TAKERS =
  /^(?:git|gh|glab|svn|hg|npm|pnpm|yarn|bun|npx|bunx|pip|pip3|pipx|uv|uvx|poetry|cargo|gem|go|brew|apt|apt-get|docker|podman|kubectl|helm|aws|gcloud|az|s3cmd|rclone|restic|playwright|perl|python|python3|ruby|node|deno|php|scp|rsync)$/u;
const LOGINS = /^(?:ssh|autossh|mosh|sftp|ssh-copy-id|ssh-keyscan|sshfs)$/u;
const LOGIN_VALUES = /^-[BbcDEeFfIiJLlMmOoPpRSWw]$/u;
const GIT_REMOTES = /^(?:clone|fetch|pull|push|ls-remote|remote|submodule|archive)$/u;
/** Options whose next word is data and no target. */
const DATA: Readonly<Record<string, RegExp>> = {
  curl: /^(?:-[a-wyzA-Z]*[AbcCdDeEFHKmoPQrtTuUwXyYz]|--(?:data|header|user|form|json|output|request|cookie|referer|write-out|upload-file|max-|retry|connect-timeout|limit-rate|url-query|cert|key|cacert|range|oauth)[\w-]*)$/u,
  wget: /^(?:-[a-zA-Z]*[aoOPDAIRXUQTtwlB]|--(?:output|header|user|password|post|body|directory|tries|timeout|wait|quota|accept|reject|level|limit)[\w-]*)$/u,
  ssh: /^-[BbcDEeFIiLlMmOPpRSWw]$/u,
};
/** An option or a setting in front of its value. */
const NAME_OF_VALUE =
  /^(?:--?[\w-]+=|-[a-zA-Z]{1,8}?(?=\d|\[|localhost|[a-z]{2,8}:\/\/))?(?:[\w.]*(?:proxy|HostName|ProxyJump)=)?/iu;
const URL_HOST = /^(?:https?:[/\\]*|[a-z][a-z0-9+.-]*:\/\/(?!\/))([^/?#\\]*)/iu;
/** A plain number below this is never written for an address. */
const FIRST_ADDRESS = 0x1000000;
const TAKE_PLACES = /^(?:git|scp|rsync)$/u;
/** Without brackets, perhaps with a zone. */
const IPV6 = /^([0-9a-f]*:[0-9a-f:.]*:[0-9a-f.]*)(?:%.*)?$/iu;
const MOST_WORDS = 1_000;

/** Clauses about private and metadata hosts that a program is told to talk to: `it names 10.0.0.1, which is …`. */
export function closedHosts({ name, args }: Invocation, isOpened?: (target: HostPort) => boolean): readonly string[] {
  const isClient = CLIENTS.test(name);
  const isLogin = LOGINS.test(name);
  const isNetcat = /^(?:nc|ncat|netcat)$/u.test(name);
  if (!isClient && !isLogin && !URL_TAKERS.test(name) && !/^[<>]$/u.test(name)) return [];
  if (name === 'git' && !args.some((arg) => GIT_REMOTES.test(arg))) return [];
  if (isNetcat && args.some((arg) => /^-[a-zA-Z]*l|^--listen$/u.test(arg))) return [];
  const first = args.findIndex((arg, i) => !arg.startsWith('-') && !LOGIN_VALUES.test(args[i - 1] ?? ''));
  const data = DATA[isLogin ? 'ssh' : name];
  const hosts = args.slice(0, isLogin && name !== 'ssh-keyscan' ? first + 1 : MOST_WORDS).flatMap((arg, i) => {
    const before = args[i - 1] ?? '';
    const isAmount = Number(arg) < FIRST_ADDRESS && before.startsWith(isNetcat ? '-' : '--');
    return isAmount || data?.test(before) === true ? [] : hostsIn(arg.replace(NAME_OF_VALUE, ''), name, i === first);
  });
  return hosts.flatMap(([host, isSure]) => whatIsClosed(host, isSure, isOpened) ?? []);
}

/** Hosts that a word of a program may name, and whether it can name nothing else. */
function hostsIn(word: string, name: string, isFirst: boolean): readonly (readonly [host: string, isSure: boolean])[] {
  // curl's `--resolve name:port:addresses` and `--connect-to name:port:host:port`, of which the names may be missing.
  const led = name === 'curl' ? /^[^:[\]/]*:\d*:(\[?[^/]*)$/u.exec(word)?.[1] : undefined;
  if (led !== undefined)
    return led.split(',').map((to) => [/^\[.*?\]/u.exec(to)?.[0] ?? to.replace(/:\d*$/u, ''), true] as const);
  // curl puts several addresses together itself: `10.0.0.[1-9]`, `{a,b}.example.com`.
  const url = URL_HOST.exec(word)?.[1]?.replaceAll(/\{([^,{}]*)[^{}]*\}|\[(\d+)-\d+\]/gu, '$1$2');
  const sure = url ?? /^\/dev\/(?:tcp|udp)\/([^/]+)\//u.exec(word)?.[1];
  if (sure !== undefined) return [[sure, true]];
  const place = word.split(/[/?#]/u)[0] ?? '';
  // `user@host:path`, socat's `TCP:host:port`, curl's `--resolve name:port:address`; IPv6 is whole.
  const parts = IPV6.test(place) ? [place] : place.split(':');
  const hosts = CLIENTS.test(name) || LOGINS.test(name) ? parts : TAKE_PLACES.test(name) ? parts.slice(0, -1) : [];
  // This machine and the metadata service in short, as a first operand.
  return hosts.map((host, i) => [host, isFirst && i === 0 && /^(?:0|metadata)$/u.test(host)] as const);
}

/** Nothing is looked up: a public name may still lead anywhere. Hosts opened on purpose are not told. */
function whatIsClosed(authority: string, isSure: boolean, isOpened?: (to: HostPort) => boolean): string | undefined {
  const written = authority.slice(authority.lastIndexOf('@') + 1);
  // An address whose end is not known stands for one that begins so.
  const text = /^(?:\d{1,3}\.){1,3}\0/u.test(written) ? written.replaceAll(UNKNOWN, '1') : written;
  const target = readHost(text);
  if (target === undefined || text.includes(UNKNOWN)) return undefined;
  const { host } = target;
  const isAddress = canonicalAddress(host) !== undefined;
  const { kind, what } = isAddress ? judgeAddress(host) : judgeName(host);
  if (kind === 'public' || kind === 'invalid' || (kind !== 'metadata' && isOpened?.(target) === true)) return undefined;
  // Short names and plain numbers are too often something else.
  const isDoubtful = isAddress
    ? /^\d+$/u.test(text) && Number(text) < FIRST_ADDRESS
    : !host.includes('.') && host !== 'localhost';
  return isDoubtful && !isSure ? undefined : `it names ${host}, which is ${what}`;
}

function readHost(text: string): HostPort | undefined {
  const bare = IPV6.exec(text)?.[1];
  const written = `http://${bare === undefined ? text.replace(/%[^\]]*\]/u, ']') : `[${bare}]`}`;
  if (!URL.canParse(written)) return undefined;
  const { hostname, port } = new URL(written);
  const host = hostname.replace(/^\[|\]$/gu, '').replace(/\.$/u, '');
  return host === '' ? undefined : { host, port: port === '' ? 80 : Number(port) };
}
