import { guardsIn, type Guard } from '../guard.ts';

const ASKED = 'security/commands-ask.test.ts';

/** What in a shell command is asked about, one by one. */
export const COMMAND_CONCERN_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/commands/ask/hosts.ts',
    [ASKED],
    [
      {
        name: 'hosts-userinfo',
        holds: 'A user name before a host does not pass for the host.',
        find: "spelledOut(authority.slice(authority.lastIndexOf('@') + 1))",
        replace: 'spelledOut(authority)',
        tests: ['security/commands-traps.test.ts'],
      },
      {
        name: 'hosts-opened',
        holds: 'A host is not asked about only where the configuration opens it.',
        find: "if (verdict.kind !== 'metadata' && opened(target)) return undefined;",
        replace: '',
      },
      {
        name: 'hosts-doubtful',
        holds: 'A short name in an address counts as a host.',
        find: "if (naming !== 'url' && isDoubtful(text, host, naming)) return undefined;",
        replace: 'if (isDoubtful(text, host, naming)) return undefined;',
      },
      {
        name: 'hosts-without-slashes',
        holds: 'A URL whose slashes are left out, which clients take too, is read as one.',
        find: '/^(?:https?|ftps?|wss?):[/\\\\]*([^/?#\\\\]*)/iu.exec(text)?.[1] ??\n    ',
        replace: '',
      },
      {
        name: 'hosts-ipv6',
        holds: 'IPv6 without brackets is read.',
        find: 'return canonicalAddress(host) === undefined ? undefined : { host, port: 0 };',
        replace: 'return undefined;',
        tests: ['security/commands-traps.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/network.ts',
    [ASKED],
    [
      {
        name: 'network-logins',
        holds: 'Hosts of ssh and its relatives are looked at.',
        find: 'if (name in LOGINS) return loginHosts(name, args);',
        replace: '',
      },
      {
        name: 'network-copiers',
        holds: 'Hosts of scp and rsync are looked at.',
        find: 'if (COPIERS.has(name)) return',
        replace: 'if (COPIERS.has(`${name}!`)) return',
      },
      {
        name: 'network-git',
        holds: 'Hosts of git are looked at.',
        find: "if (name === 'git') return gitHosts(args);",
        replace: '',
      },
      {
        name: 'network-socat',
        holds: 'Hosts of socat are looked at.',
        find: "if (name === 'socat') return args.flatMap(socatHosts);",
        replace: '',
      },
      {
        name: 'network-openssl',
        holds: 'Hosts of openssl are looked at.',
        find: "if (name === 'openssl' && args[0] === 's_client') return inWords(args.slice(1), undefined);",
        replace: '',
      },
      {
        name: 'network-clients',
        holds: 'Hosts of curl, wget and other clients are looked at.',
        find: 'if (CLIENTS.has(name)) return [...clientHosts(name, args), ...listedHosts(args, scope)];',
        replace: '',
      },
      {
        name: 'network-listed',
        holds: 'Hosts that a client reads from its input are looked at.',
        find: ', ...listedHosts(args, scope)];',
        replace: '];',
      },
      {
        name: 'network-url-takers',
        holds: 'URLs given to package managers and the like are looked at.',
        find: 'if (URL_TAKERS.has(name)) return args.flatMap(inUrl);',
        replace: '',
      },
      {
        name: 'network-awk',
        holds: 'Hosts of awk are looked at.',
        find: 'if (/^[gmn]?awk$/u.test(name)) return args.flatMap(awkHosts);',
        replace: '',
      },
      {
        name: 'network-pinned',
        holds: 'A name that is pinned to a private address is looked at.',
        find: '...args.flatMap(pinnedHosts),',
        replace: '',
      },
      {
        name: 'network-proxy-options',
        holds: 'A proxy in an option is looked at.',
        find: '...args.flatMap(proxyHosts),',
        replace: '',
      },
      {
        name: 'network-metadata-word',
        holds: 'The bare name of the metadata service is looked at.',
        find: '...metadata,',
        replace: '',
      },
      {
        name: 'network-zero',
        holds: 'The host 0, which is this machine, is looked at.',
        find: '...zero,',
        replace: '',
      },
      {
        name: 'network-jumps',
        holds: 'A host that ssh jumps through is looked at.',
        find: "if (arg.startsWith('-J')) found.push(...value.split(',').map((one) => host(one, 'alias')));",
        replace: '',
      },
      {
        name: 'network-host-options',
        holds: 'A host in an option of ssh is looked at.',
        find: "if (pointed !== null) found.push(host(pointed[1] ?? '', 'alias'));",
        replace: '',
      },
      {
        name: 'network-git-settings',
        holds: 'A host in a setting given to git is looked at.',
        find: 'return [...settings, ...args.slice(at + 1)',
        replace: 'return [...args.slice(at + 1)',
      },
      {
        name: 'network-ranges',
        holds: 'Addresses that curl puts together itself are looked at.',
        find: ".replaceAll(/\\{([^,{}]*)[^{}]*\\}|\\[([0-9a-z]+)-[0-9a-z]+(?::\\d+)?\\]/gu, '$1$2')",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/interpreter.ts',
    [ASKED],
    [
      {
        name: 'interpreter-inline',
        holds: 'Code on the command line of an interpreter is looked at.',
        find: "if (inline.length > 0) return inline.join('\\n');",
        replace: "if (inline.length > 0) return '';",
      },
      {
        name: 'interpreter-input',
        holds: 'Code on the input of an interpreter is looked at.',
        find: "if (program === undefined) return scope.stdin.text ?? '';",
        replace: "if (program === undefined) return '';",
      },
      {
        name: 'interpreter-file',
        holds: 'A file that the command wrote itself and an interpreter runs is looked at.',
        find: "fileOf(posix.resolve(directory, program), scope)?.text ?? ''",
        replace: "''",
      },
      {
        name: 'interpreter-fetched',
        holds: 'A fetched file that an interpreter runs is asked about.',
        find: 'fileOf(posix.resolve(directory, program), scope)?.fetched === true',
        replace: 'false',
        tests: ['security/commands-traps.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/places.ts',
    [ASKED],
    [
      {
        name: 'places-start-files',
        holds: 'Start-up files of shells and programs are asked about.',
        find: 'return kind === undefined ? [] : [outside(`it writes ${shown}, which ${kind}`)];',
        replace: 'return [];',
      },
      {
        name: 'places-authorized-keys',
        holds: 'Keys by which somebody may log in are asked about.',
        find: "startKind(parts) ?? (parts.includes('.ssh') ? 'decides who may log in, and how' : undefined)",
        replace: 'startKind(parts)',
      },
      {
        name: 'places-redirects',
        holds: 'Redirections into start-up files are asked about.',
        find: 'return [...(writes ? writtenConcern(path) : []), ...ownStateConcern([path], place)];',
        replace: 'return ownStateConcern([path], place);',
      },
      {
        name: 'places-code',
        holds: 'Paths in the code of another language are looked at.',
        find: ', ...quotedIn(code)]',
        replace: ']',
      },
      {
        name: 'places-into',
        holds: 'Files that an option of a client names are asked about.',
        find: "long ?? (/^(?:-o|-O|-t|-P|--output|--output-document|--target-directory)$/u.test(args[i - 1] ?? '') ? arg : [])",
        replace: 'long ?? []',
      },
      {
        name: 'places-copied-into',
        holds: 'What is copied into a folder under its own name is asked about.',
        find: '...sources.map((source) => `${target}/${posix.basename(source)}`)',
        replace: '',
      },
      {
        name: 'places-in-place',
        holds: 'What an editor changes in its place is asked about.',
        find: 'args.some((arg) => /^-[a-zA-Z]*i|^--in-place/u.test(arg)) ? words : []',
        replace: '[]',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/ask/programs.ts',
    [ASKED],
    [
      {
        name: 'programs-system',
        holds: 'Mounts and modules are asked about.',
        find: "...all(system, 'mount umount losetup swapon swapoff insmod modprobe rmmod'),",
        replace: '',
      },
      {
        name: 'programs-firewall',
        holds: 'The firewall is asked about.',
        find: "...all(firewall, 'iptables ip6tables nft ufw firewall-cmd'),",
        replace: '',
      },
      {
        name: 'programs-accounts',
        holds: 'Who may log in is asked about.',
        find: '(isHelp(args) ? undefined : `it changes who may log in',
        replace: '(args.length >= 0 ? undefined : `it changes who may log in',
      },
      {
        name: 'programs-units',
        holds: 'What the machine starts by itself is asked about.',
        find: 'if (LASTING_VERBS.has(verb)) return',
        replace: 'if (LASTING_VERBS.has(`${verb}!`)) return',
      },
      {
        name: 'programs-own-service',
        holds: "The assistant's own service is asked about.",
        find: 'names.some((name) => /^assistant(?:$|[.@-])/u.test(name))',
        replace: 'names.length < 0',
      },
      {
        name: 'programs-runners',
        holds: "The assistant's command line behind npx and the like is asked about.",
        find: "...all(runner, 'npx npm pnpm bunx yarn'),",
        replace: '',
      },
      {
        name: 'programs-launcher',
        holds: "The assistant's command line behind node is asked about.",
        find: '  node,\n  kill: kills,',
        replace: '  kill: kills,',
      },
      {
        name: 'programs-kill-by-name',
        holds: 'Ending processes by their names is asked about.',
        find: "...all(killsByName, 'pkill killall skill'),",
        replace: '',
      },
      {
        name: 'programs-kill',
        holds: 'Ending processes by their numbers is asked about.',
        find: '  kill: kills,\n',
        replace: '',
      },
      {
        name: 'programs-set-id',
        holds: "Programs that run with their owner's rights are asked about.",
        find: '  chmod: setId,\n',
        replace: '',
      },
      {
        name: 'programs-tunnels',
        holds: 'Ways into this machine are asked about.',
        find: '  ssh: tunnels,\n',
        replace: '',
      },
      {
        name: 'programs-authorizes',
        holds: 'Letting somebody log in elsewhere is asked about.',
        find: "  'ssh-copy-id': authorizes,\n",
        replace: '',
      },
      {
        name: 'programs-git-settings',
        holds: 'Settings that make git run programs are asked about.',
        find: '  git,\n};',
        replace: '};',
      },
      {
        name: 'programs-container-options',
        holds: 'A container with the rights of the machine is asked about.',
        find: 'options.some((arg) => OPENS_MACHINE.test(arg)) ||',
        replace: '',
      },
      {
        name: 'programs-container-socket',
        holds: 'A container with the socket of its engine is asked about.',
        find: 'mounted.some((path) => /\\/(?:docker|podman|containerd)\\.sock$/u.test(path)) ||',
        replace: '',
      },
      {
        name: 'programs-container-mounts',
        holds: 'A container with folders of the system is asked about.',
        find: "losing(\n      mounted.filter((path) => path.startsWith('/')),\n      directories,\n    ) !== undefined;",
        replace: 'false;',
      },
    ],
  ),
];
