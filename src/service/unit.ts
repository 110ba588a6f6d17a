import { SYSTEM_USER_HOME, type Places } from './places.ts';

/** What neither the assistant nor its sandbox needs of the kernel. */
const SYSTEM_CALLS = '~@clock @cpu-emulation @debug @module @obsolete @raw-io @reboot @swap';

/**
 * The text of the systemd unit. It names no key and no Node. What the sandbox needs is left open: user namespaces,
 * mounts, a host name of its own, a `/proc` with nothing mounted over it, and control groups for its limits.
 */
export function unitText({ kind, home, launcher, variables }: Omit<Places, 'log' | 'unit'>): string {
  const isSystem = kind === 'system';
  const lines = [
    '# Made by the command `service install`, which writes it anew. For changes of your own: systemctl edit.',
    '[Unit]',
    'Description=assistant, a personal assistant daemon',
    ...(isSystem ? ['Wants=network-online.target', 'After=network-online.target'] : []),
    // Crashes in a row are answered by safe mode, not by giving up.
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=notify',
    'SyslogIdentifier=assistant',
    // Messages are sent by systemd-notify, a child.
    'NotifyAccess=all',
    ...(isSystem ? ['User=assistant', 'Group=assistant'] : []),
    `WorkingDirectory=${isSystem ? SYSTEM_USER_HOME : '%h'}`,
    `Environment=ASSISTANT_HOME=${home}`,
    `EnvironmentFile=-${variables}`,
    `ExecStart=${launcher}`,
    'Restart=always',
    'RestartSec=2',
    '# A missing program (72) and a configuration that cannot run (78) are not tried again.',
    'RestartPreventExitStatus=72 78',
    'TimeoutStartSec=90',
    '# SIGTERM ends the assistant within 10 seconds.',
    'TimeoutStopSec=15',
    '# Without a sign of life for this long it is started anew.',
    'WatchdogSec=60',
    'WatchdogSignal=SIGKILL',
    'KillMode=mixed',
    'LimitNOFILE=65536',
    '# The sandbox limits the memory and the processes of each command; one that takes too much ends alone.',
    'Delegate=memory pids',
    'OOMPolicy=continue',
    '',
    'UMask=0077',
    'NoNewPrivileges=true',
    'CapabilityBoundingSet=',
    'AmbientCapabilities=',
    // In a user unit the folders below can be guarded in a user namespace only.
    ...(isSystem ? [] : ['PrivateUsers=true']),
    'ProtectSystem=strict',
    `ProtectHome=${isSystem && !isPersonal(home) ? 'true' : 'read-only'}`,
    `ReadWritePaths=${isSystem && !isPersonal(home) ? `${SYSTEM_USER_HOME} -${home}` : home}`,
    `ReadOnlyPaths=-${variables}${isSystem ? '' : ` -${launcher}`}`,
    'PrivateTmp=true',
    'PrivateDevices=true',
    'ProtectKernelModules=true',
    'ProtectClock=true',
    'LockPersonality=true',
    'RestrictRealtime=true',
    'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
    'SystemCallArchitectures=native',
    `SystemCallFilter=${SYSTEM_CALLS}`,
    'SystemCallErrorNumber=EPERM',
    '',
    '[Install]',
    `WantedBy=${isSystem ? 'multi-user.target' : 'default.target'}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Below folders that `ProtectHome=true` hides. */
export function isPersonal(path: string): boolean {
  return /^\/(?:home|root|run\/user)\//u.test(path);
}
